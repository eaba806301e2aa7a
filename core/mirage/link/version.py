"""This package's version, without importing anything heavy."""

from __future__ import annotations

import re
from functools import lru_cache

DISTRIBUTION = "mirage-superoptimizer"
_RELEASE = re.compile(r"\d{1,9}(\.\d{1,9}){0,5}")
SOURCE = "source"  # the version of a checkout that is not installed


def is_newer(version: str, than: str) -> bool:
    """Whether one release comes after another; what is no release (a checkout, nonsense) is neither newer nor older."""
    one, other = _RELEASE.match(version), _RELEASE.match(than)
    if one is None or other is None:
        return False
    return [int(n) for n in one[0].split(".")] > [int(n) for n in other[0].split(".")]


@lru_cache(maxsize=1)
def package_version() -> str:
    """The installed distribution's version; SOURCE when there is none."""
    from importlib import (
        metadata,
    )  # it reads mail's headers: a tenth of this package's import, and not every client asks

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return SOURCE
