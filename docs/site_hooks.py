"""What the site takes from outside docs/: the extension's page and pictures, which docs/editor.md shows."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "vscode-extension"
TAKEN = ("README.md", "media/pictures/*.png", "media/pictures/*.svg")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in sorted(p for pattern in TAKEN for p in (ROOT / FOLDER).glob(pattern)):
        uri = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path), inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of docs/ mean the copy; those of the extension's page back into docs/ mean the page."""
    if page.file.src_uri.startswith(f"{FOLDER}/"):
        return markdown.replace("](../docs/", "](../").replace("](../README.md", "](../index.md")
    return markdown.replace(f"](../{FOLDER}/", f"]({FOLDER}/")
