"""Do two tensor programs compute the same? Proof by normal form, else the field's opinion, on their terms alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mirage.errors import SignatureMismatch, UnsupportedReshape
from mirage.meaning.normal import Normalizer
from mirage.program.ir import DTYPES, Node, Program, TensorType
from mirage.program.lower import Lowered, lower
from mirage.verify.algebra import algebra_sizes, field_opinion, offset_axes
from mirage.verify.evaluate import Fault, evaluate_terms
from mirage.verify.floating import Floats
from mirage.verify.verdict import Evidence, Link, Verdict


def check_signatures(a: Program, b: Program) -> None:
    """Same inputs (shapes and dtypes, in order; names may differ) and same outputs, or SignatureMismatch."""
    for what, left, right in (
        ("inputs", [i.type for i in a.inputs], [i.type for i in b.inputs]),
        ("outputs", [a.type_of(o) for o in a.outputs], [b.type_of(o) for o in b.outputs]),
    ):
        mine, other = [(t.shape, t.dtype) for t in left], [(t.shape, t.dtype) for t in right]
        if mine != other:
            raise SignatureMismatch(f"{a.name} and {b.name} have different {what}: {mine} and {other}")


def joined(a: Program, b: Program) -> Program:
    """Both programs over the inputs of `a`, outputs of `a` first. A comparison of each pair of outputs makes their dims
    the same axes; lowered together, a dim is cut in the same places in both, and one size is one axis in both where
    either says so."""
    first, more = len(a.inputs), len(a.nodes)
    moved = [replace(n, args=tuple(x if x < first else x + more for x in n.args)) for n in b.nodes]
    theirs = [x if x < first else x + more for x in b.outputs]
    nodes = [*a.nodes, *moved]
    meets = []
    for x, y in zip(a.outputs, theirs, strict=True):
        meets.append(first + len(nodes))
        nodes.append(Node("eq", (x, y), (), TensorType(a.type_of(x).shape, "bool")))
    return replace(a, nodes=tuple(nodes), outputs=(*a.outputs, *theirs, *meets), returns_tuple=True)


def small_sizes(lowered: Lowered, roots: list[int]) -> dict[str, int]:
    """Tiny sizes of all axes. Axes that stand for the same whole dim of an input are as long as each other, and those
    of dims that are read at an offset keep their sizes."""
    t = lowered.terms
    fixed = {x: t.sizes[x] for x in offset_axes(t, roots) if x in t.sizes}
    sizes = algebra_sizes(t, roots, fixed)
    same: dict[str, str] = {}

    def representative(axis: str) -> str:
        while same.get(axis, axis) != axis:
            axis = same[axis]
        return axis

    seen: dict[tuple[str, int, int], str] = {}
    for x in {y for r in roots for y in t.walk(r)}:
        n = t.node(x)
        if n[0] == "in":
            for i, d in enumerate(n[2]):
                for j, axis in enumerate(d.axes):
                    other = seen.setdefault((n[1], i, len(d.axes) - j), axis)
                    if not d.offset and t.sizes[other] == t.sizes[axis]:
                        one, two = sorted((representative(axis), representative(other)))
                        same[two] = one
    groups: dict[str, list[str]] = {}
    for axis in sizes:
        groups.setdefault(representative(axis), []).append(axis)
    for axes in groups.values():
        kept = [fixed[a] for a in axes if a in fixed]
        length = kept[0] if kept else min(sizes[a] for a in axes)
        sizes |= dict.fromkeys(axes, length)
    return sizes


def input_shapes(lowered: Lowered, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The inputs' shapes at these sizes; dims that are read at an offset keep theirs."""
    every = dict(lowered.terms.sizes) | sizes
    shapes = {}
    for x in lowered.tensors:
        fixed = x.rigid or (None,) * len(x.dims)
        shape = []
        for axes, n in zip(x.dims, fixed, strict=True):
            total = 1
            for a in axes:
                total *= every[a]
            shape.append(total if n is None else n)
        shapes[x.name] = tuple(shape)
    return shapes


def agree_in_floats(
    lowered: Lowered, x: int, y: int, kinds: dict[str, str], sizes: dict[str, int], shapes: dict[str, tuple[int, ...]]
) -> bool:
    """Do two terms agree at a few random points in float64? No evidence for a verdict: it words a rejection."""
    rng = np.random.default_rng(0)
    inputs = {}
    for name, shape in shapes.items():
        full, kind = (4, *shape), kinds.get(name)
        inputs[name] = (
            rng.standard_normal(full) if kind is None else
            rng.integers(0, 2, full).astype(bool) if kind == "bool" else rng.integers(-8, 9, full)
        )  # fmt: skip
    dims = tuple(sorted(lowered.terms.dims(x) | lowered.terms.dims(y)))
    try:
        a, b = evaluate_terms(lowered.terms, [(x, dims), (y, dims)], inputs, Floats(), sizes)
    except Fault:
        return False
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)) and bool(np.isfinite(a).any())


def compare(a: Program, b: Program) -> Verdict:
    """The verdict on "the two programs compute the same", on the algebra link alone. Raises SignatureMismatch, and
    UnsupportedReshape where their reshapes cut a dim in ways that do not meet."""
    check_signatures(a, b)
    try:
        lowered = lower(joined(a, b))
    except UnsupportedReshape as error:
        text = f"{a.name} and {b.name} cut a dimension in ways that do not meet: {error.message}"
        raise UnsupportedReshape(text, line=error.line, next_step="write both with the same reshapes") from error
    t, n = lowered.terms, len(a.outputs)
    pairs = list(zip([x for x, _ in lowered.outputs[:n]], [y for y, _ in lowered.outputs[n : 2 * n]], strict=True))
    roots = [x for pair in pairs for x in pair]
    kinds = {i.name: "bool" if i.type.dtype == "bool" else "int" for i in a.inputs if not DTYPES[i.type.dtype][1]}
    sizes = small_sizes(lowered, roots)
    shapes = input_shapes(lowered, sizes)
    evidence: list[Evidence] = []
    normal = Normalizer(t)
    if all(normal.equal(x, y) for x, y in pairs):
        evidence.append(Evidence("proof", "PROVED", 0.0, 0.0, "equal normal forms"))
    for x, y in pairs:
        e = field_opinion(t, x, y, kinds=kinds, sizes=sizes, shapes=shapes)
        if e.word == "REJECTED" and agree_in_floats(lowered, x, y, kinds, sizes, shapes):
            e = replace(
                e,
                summary="not shown equal: they differ in the field, whose order and opaque functions are not "
                "those of numbers, and agree in float64 at random points",
            )
        evidence.append(e)
    return Verdict((Link("algebra", tuple(evidence)),), "these sizes")
