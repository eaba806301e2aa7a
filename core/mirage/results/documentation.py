"""Where the pages of the documentation are: in the installed package, or beside it in a checkout."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE / "docs", PACKAGE.parents[1] / "docs")  # as the wheel has them; as a checkout has


@lru_cache(maxsize=1)
def folder() -> Path | None:
    """The folder of the pages; None where they are not installed."""
    return next((f for f in FOLDERS if (f / "errors.md").is_file()), None)


def pages() -> list[str]:
    """The pages' names, without `.md`."""
    found = folder()
    return sorted(p.stem for p in found.glob("*.md")) if found else []


def page(name: str) -> Path | None:
    """The file of a page such as "errors", or None."""
    found = folder()
    return found / f"{name}.md" if found and name in pages() else None
