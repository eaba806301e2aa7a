"""The versions of the packages that decide what a result is: they stand in it, and a result of others is not used."""

from __future__ import annotations

from importlib import metadata

PACKAGES = ("mirage-superoptimizer", "torch", "triton", "numpy")


def package_versions() -> dict[str, str]:
    """Of PACKAGES, in this interpreter; "missing" where one is not installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found
