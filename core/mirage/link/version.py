"""This package's version, without importing anything heavy."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata

DISTRIBUTION = "mirage-superoptimizer"
SOURCE = "source"  # the version of a checkout that is not installed


@lru_cache(maxsize=1)
def package_version() -> str:
    """The installed distribution's version; SOURCE when there is none."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return SOURCE
