"""`initialized`: from now on the client may be asked: to say when its configuration changes, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from mirage_lsp import methods
from mirage_lsp.methods import did_change_configuration

if TYPE_CHECKING:
    from mirage_lsp.server import MirageServer


async def handle(ls: MirageServer, params: types.InitializedParams) -> None:
    if ls.supports(lambda c: c.workspace.did_change_configuration.dynamic_registration):  # type: ignore[union-attr]
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        options = types.DidChangeConfigurationRegistrationOptions(section="mirage")
        wish = types.Registration(id=method, method=method, register_options=options)
        ls.ask(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(registrations=[wish]))
    await did_change_configuration.pull(ls)
    await methods.import_all()
