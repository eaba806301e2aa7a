"""`python -m mirage_lsp`: the language server of this very interpreter."""

from mirage_lsp.lsp_command import lsp

lsp(prog_name="mirage lsp")
