"""`python -m mirage`: the command line, for the interpreter that is named."""

from mirage.cli import main

main(prog_name="mirage")
