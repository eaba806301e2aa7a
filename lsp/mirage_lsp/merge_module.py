"""Merge of a generated module into a file, as the block that replaces a function.

The file must parse after it, and no name of it
may come to mean something else."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from mirage_lsp import kernel_block, rename_names
from mirage_lsp.errors import CannotMerge
from mirage_lsp.text_lines import line_end_of, split_end, split_lines

_PART = re.compile(r"# mirage:(begin|end) (\w+)\s*")
_NEEDED = ("imports", "kernels", "launcher")


@dataclass(frozen=True)
class ReplacedFunction:
    """A decorated function in a text: 1-based lines, `decorator_lines` the first and last of Mirage's own decorator."""

    name: str
    first_line: int
    last_line: int
    decorator_lines: tuple[int, int]


def parts(module: str) -> dict[str, str]:
    """The marked parts of a generated module, without their marks. Raises CannotMerge for a part that is missing."""
    found: dict[str, list[str]] = {}
    inside = ""
    for line in split_lines(module):
        text, _ = split_end(line)
        mark = _PART.fullmatch(text)
        if mark and mark[1] == "begin" and not inside:
            inside = mark[2]
            found[inside] = []
        elif mark and mark[1] == "end" and mark[2] == inside:
            inside = ""
        elif inside:
            found[inside].append(text)
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise CannotMerge(f"the generated module has no part named {', '.join(missing)}")
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def replace(text: str, target: ReplacedFunction, module: str, elsewhere: str = "") -> tuple[int, int, str]:
    """The offsets of a function in `text` and the block that replaces it; `elsewhere` is text of other cells, with which
    it shares its names. Raises CannotMerge."""
    start, end, old = _cut(text, target)
    have = parts(module)
    taken = {**_bound_names(elsewhere), **_bound_names(text[:start] + text[end:])}
    code = _tree("\n".join((have["kernels"], have["launcher"])), "the kernel")
    used = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)}
    imports = _imports(have["imports"], used, taken)
    own = rename_names.bound_in(code.body)
    own -= {target.name, f"_original_{target.name}"}
    new_names = _fresh(own, target.name, set(taken))
    pieces = [
        have.get("header", ""),
        imports,
        rename_names.rename(have["kernels"], new_names),
        _fallback(old, target),
        rename_names.rename(have["launcher"], new_names),
    ]
    body = "\n\n\n".join(piece for piece in pieces if piece).split("\n")
    return start, end, _block(text, target, body, (start, end, old))


def replace_by_import(text: str, target: ReplacedFunction, line: str, elsewhere: str = "") -> tuple[int, int, str]:
    """As `replace`, by a block that imports the function: `line` is the import. Raises CannotMerge."""
    start, end, old = _cut(text, target)
    if target.name in {**_bound_names(elsewhere), **_bound_names(text[:start] + text[end:])}:
        raise CannotMerge(f"the file binds `{target.name}` more than once")
    return start, end, _block(text, target, [f"{line}  # noqa: E402, F401"], (start, end, old))


def _cut(text: str, target: ReplacedFunction) -> tuple[int, int, list[str]]:
    """The offsets of a function, and its lines."""
    lines = split_lines(text)
    start = sum(map(len, lines[: target.first_line - 1]))
    old = lines[target.first_line - 1 : target.last_line]
    return start, start + sum(map(len, old)), old


def _block(text: str, target: ReplacedFunction, body: list[str], place: tuple[int, int, list[str]]) -> str:
    """The block with a body, which parses in its place."""
    start, end, old = place
    new = kernel_block.wrap(target.name, body, old, line_end_of(text))
    if not kernel_block.gives_back(new, "".join(old)):
        raise CannotMerge(f"the text of `{target.name}` has lines that a block's own lines could not be told from")
    check(text[:start] + new + text[end:])
    return new


def check(text: str) -> None:
    """Raise CannotMerge unless the text parses."""
    try:
        ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CannotMerge(f"the file would no longer parse: {error}") from None


def _fallback(old: list[str], target: ReplacedFunction) -> str:
    """The function itself as `_original_NAME`, Mirage's decorator in a comment."""
    first, last = target.decorator_lines
    out: list[str] = []
    named = False
    for number, line in enumerate(old, target.first_line):
        text, _ = split_end(line)
        if first <= number <= last:
            out.append(f"# {text}".rstrip())
            continue
        if not named and number > last:
            text, count = re.subn(rf"^(def\s+){re.escape(target.name)}\b", rf"\1_original_{target.name}", text)
            named = count == 1
        out.append(text)
    if not named:
        raise CannotMerge(f"no line begins with `def {target.name}`")
    return "\n".join(out)


def _tree(text: str, what: str = "the file") -> ast.Module:
    try:
        return ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError) as error:
        step = "mend the syntax error first" if what == "the file" else None
        raise CannotMerge(f"{what} does not parse: {error}", next_step=step) from None


def _bound_names(text: str) -> dict[str, str]:
    """Names bound at module level: the import that binds each, or "" for anything else."""
    body = _tree(text).body
    names: dict[str, str] = dict.fromkeys(rename_names.bound_in(body), "")
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update({bound: ast.unparse(one) for bound, one in _single_imports(node)})
    return names


def _single_imports(node: ast.Import | ast.ImportFrom) -> list[tuple[str, ast.stmt]]:
    singles: list[tuple[str, ast.stmt]] = []
    for alias in node.names:
        one = (
            ast.Import(names=[alias])
            if isinstance(node, ast.Import)
            else ast.ImportFrom(node.module, [alias], node.level)
        )
        singles.append((alias.asname or alias.name.partition(".")[0], one))
    return singles


def _imports(text: str, used: set[str], taken: dict[str, str]) -> str:
    """The imports that the kernel uses; those of the original alone are in the file, and `__future__` must stay first
    in it. Refuses a name that the file already uses for something else."""
    out: list[str] = []
    for node in _tree(text, "the kernel").body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "module", "") == "__future__":
            continue
        for bound, one in _single_imports(node):
            if bound not in used:
                continue
            line = ast.unparse(one)
            if bound in taken and taken[bound] != line and not _same_package(taken[bound], line):
                raise CannotMerge(f"the file uses the name `{bound}` for something else than `{line}`")
            out.append(f"{line}  # noqa: E402, F811")
    return "\n".join(out)


def _same_package(have: str, want: str) -> bool:
    """`import torch.nn` binds the same `torch` as `import torch` does."""
    plain = [re.fullmatch(r"import (\w+)(\.\w+)*", line) for line in (have, want)]
    return plain[0] is not None and plain[1] is not None and plain[0][1] == plain[1][1]


def _fresh(own: set[str], function: str, taken: set[str]) -> dict[str, str]:
    """New names for the module's private names, so that several blocks and the file's own names do not clash."""
    names: dict[str, str] = {}
    for name in sorted(own):
        stem = new = name if function in name else f"{name}_{function}"
        number = 2
        while new in taken or (new != name and new in own):
            new, number = f"{stem}_{number}", number + 1
        if new != name:
            names[name] = new
            taken = taken | {new}
    return names
