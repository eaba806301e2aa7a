"""`mirage/didGrantTrust`: the user trusts the workspace from now on.

A notification of its own and not a setting: settings can come from the workspace, which may not trust itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


def handle(ls: MirageServer, params: object) -> None:
    ls.session.grant_trust()
    ls.folders.look()
