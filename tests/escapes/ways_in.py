"""The ways in which a project's environment gets a text run by whoever starts its interpreter or imports its packages.

An owner of a sandbox gives an attempt to a traced job in each of these ways too: what runs before the confinement is not held.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

NAME = "zzz_planted"
# Groups of entry points that are loaded when the package of that name is imported, and those that Mirage itself reads.
GROUPS = ("torch.backends", "triton.backends", "mirage.tasks", "mirage.names", "mirage.commands", "mirage.graph_files")


def site_packages(environment: Path) -> Path:
    """Where a virtual environment of this interpreter's version has its packages."""
    return environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def by_pth(environment: Path, source: str) -> None:
    (site_packages(environment) / f"{NAME}.pth").write_text(f"import sys; exec({source!r})\n")


def by_sitecustomize(environment: Path, source: str) -> None:
    (site_packages(environment) / "sitecustomize.py").write_text(source)


def by_package(environment: Path, source: str) -> None:
    """In the place of a package that every traced job imports."""
    folder = site_packages(environment) / "torch"
    folder.mkdir()
    (folder / "__init__.py").write_text(source)


def by_entry_points(environment: Path, source: str) -> None:
    site = site_packages(environment)
    (site / f"{NAME}.py").write_text(source)
    info = site / f"{NAME}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{NAME} = {NAME}\n" for group in GROUPS))


def by_interpreter(environment: Path, source: str) -> None:
    """In the place of the interpreter, which goes on to the real one."""
    python = environment / "bin" / "python"
    real = python.resolve()
    for path in (environment / "bin").glob("python*"):
        path.unlink()
    program = environment / "bin" / NAME
    program.write_text(source)
    python.write_text(f'#!/bin/sh\n"{real}" -IS "{program}"\nexec "{real}" "$@"\n')
    python.chmod(0o755)


WAYS: dict[str, Callable[[Path, str], None]] = {
    "a .pth file": by_pth,
    "sitecustomize": by_sitecustomize,
    "a package in torch's place": by_package,
    "entry points": by_entry_points,
    "another program in the interpreter's place": by_interpreter,
}
