"""A file of the zoo with fewer rows of inputs."""

from __future__ import annotations

import ast


def with_one_row(text: str, wanted: int) -> str:
    """The file with one row of `inputs=`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.keyword) and node.arg == "inputs" and isinstance(node.value, ast.List):
            rows = ast.literal_eval(node.value)
            if rows and isinstance(rows[0], list):
                old = ast.get_source_segment(text, node.value)
                assert old is not None
                return text.replace(old, repr(rows[min(wanted, len(rows) - 1)]), 1)
    return text
