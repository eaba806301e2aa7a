"""Finding decorated functions: what is found, what is refused, and that no text makes it raise."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirage.errors import BadAnnotation, BadSearchParameter, SourceSyntaxError, UnsupportedFunctionKind
from mirage.source.detect import find


def scan(text: str):
    return find(textwrap.dedent(text), "file.py")


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import mirage", "mirage.optimize"),
        ("import mirage as mi", "mi.optimize"),
        ("from mirage import optimize", "optimize"),
        ("from mirage import optimize as opt", "opt"),
        ("import torch, mirage", "mirage.optimize()"),
        ("import mirage.errors", "mirage.optimize"),
        ("try:\n    import mirage\nexcept ImportError:\n    pass", "mirage.optimize"),
        ("import mirage", "mirage.optimize(dims={'b': 8})"),
        ("import mirage", "mirage . optimize"),
    ],
)
def test_spellings(imports: str, decorator: str) -> None:
    found = find(f"{imports}\n\n@{decorator}\ndef f(x):\n    return x\n").functions
    assert [f.name for f in found] == ["f"]
    assert found[0].error is None


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import other as mirage", "mirage.optimize"),
        ("import mirage", "mirage.other"),
        ("import mirage as mi", "mirage.optimize"),
        ("from other import optimize  # mirage", "optimize"),
        ("# import mirage", "mirage.optimize"),
        ('"""\nimport mirage\n"""', "mirage.optimize"),
    ],
)
def test_other_decorators_are_not_ours(imports: str, decorator: str) -> None:
    assert find(f"{imports}\n\n@{decorator}\ndef f(x):\n    return x\n").functions == []


def test_places_are_those_of_the_text() -> None:
    (f,) = scan(
        '''\
        """Words.

        @mirage.optimize
        def not_me(x): return x
        """
        import mirage

        @mirage.optimize(
            dims={"b": 8},
        )
        def f(
            x, eps=1e-6,
        ):
            """What f does."""
            return x
        '''
    ).functions
    assert (f.name, f.decorator_line, f.line, f.end_line, f.col) == ("f", 8, 11, 15, 0)
    assert f.docstring == "What f does."
    assert [(p.name, p.line, p.column) for p in f.params] == [("x", 12, 4), ("eps", 12, 7)]
    assert f.options.dims == (("b", (8,)),)


def test_an_example_in_a_string_is_not_a_function() -> None:
    text = "import mirage\nHELP = '''\n@mirage.optimize\ndef f(x):\n    return x\n'''\n"
    assert find(text).functions == []


REFUSED = {
    "a method": "class C:\n    @mirage.optimize\n    def f(self, x): return x\n",
    "a class": "@mirage.optimize\nclass C:\n    def f(self, x): return x\n",
    "a nested function": "def g():\n    @mirage.optimize\n    def f(x): return x\n    return f\n",
    "an async function": "@mirage.optimize\nasync def f(x): return x\n",
    "a lambda": "f = mirage.optimize(lambda x: x)\n",
    "a generator": "@mirage.optimize\ndef f(x):\n    yield x\n",
    "in a block": "if True:\n    @mirage.optimize\n    def f(x): return x\n",
    "takes *xs": "@mirage.optimize\ndef f(*xs): return xs\n",
    "outside itself": "@mirage.optimize\ndef f(x):\n    global G\n    G = x\n    return x\n",
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused_kinds(why: str) -> None:
    (f,) = find("import mirage\n" + REFUSED[why], "file.py").functions
    assert isinstance(f.error, UnsupportedFunctionKind)
    assert why in f.error.message
    assert f.error.path == "file.py" and f.error.line is not None and f.error.line > 1


def test_a_plain_function_that_holds_a_lambda_and_a_helper_is_accepted() -> None:
    text = "import mirage\n@mirage.optimize\ndef f(x):\n    def g(y):\n        yield y\n    return (lambda z: z)(x)\n"
    assert [f.error for f in find(text).functions] == [None]


def test_unknown_option_is_an_error_with_its_place() -> None:
    (f,) = find("import mirage\n@mirage.optimize(\n    sizes=3)\ndef f(x): return x\n").functions
    assert isinstance(f.error, BadAnnotation)
    assert (f.error.line, f.error.column) == (3, 10)


def test_the_parameters_that_narrow_the_search_are_read() -> None:
    (f,) = find(
        "import mirage\nPARTS = 4\n@mirage.optimize(griddims=[(2, 16, 1), (2, 16, PARTS)], imaps=[(0, -1, 1)], "
        "franges=[4, 8])\ndef f(x): return x\n"
    ).functions
    assert f.error is None
    given = f.options.given
    assert given.griddims == ((2, 16, 1), (2, 16, 4)) and given.imaps == ((0, -1, 1),) and given.franges == (4, 8)
    assert given.blockdims is None and given.fmaps is None


@pytest.mark.parametrize("said", ["griddims=[(2, 16)]", "franges=[0]", "imaps=[(0, -2, 1)]", "blockdims=[(100, 1, 1)]"])
def test_a_parameter_that_no_kernel_can_have_is_an_error_with_its_place(said: str) -> None:
    (f,) = find(f"import mirage\n@mirage.optimize(\n    {said})\ndef f(x): return x\n").functions
    assert isinstance(f.error, BadSearchParameter) and said.split("=")[0] in f.error.message
    assert (f.error.line, f.error.column) == (3, 5 + said.index("="))


def test_a_broken_file_gives_what_can_be_read() -> None:
    found = scan(
        """\
        import mirage
        def broken(:
            pass

        @mirage.optimize
        def good(x):
            return x

        @mirage.optimize
        def half(x):
            y = (x +

        X = [
        1,
        """
    )
    assert [(f.name, f.line, f.error is None) for f in found.functions] == [("good", 6, True), ("half", 10, False)]
    assert isinstance(found.functions[1].error, SourceSyntaxError)
    assert isinstance(found.problems[0], SourceSyntaxError) and found.problems[0].line == 2


def test_a_sound_file_has_no_problems() -> None:
    assert scan("import mirage\n@mirage.optimize\ndef f(x): return x\n").problems == []


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "import mirage\n@mirage.optimize",
        "import mirage\n" + "(" * 5000,
        "import mirage\n'''",
        "\ufeffimport mirage",
    ],
)
def test_odd_texts_do_not_raise(text: str) -> None:
    assert find(text).functions == []
    assert isinstance(find(text).problems, list)


@pytest.mark.parametrize("depth", [100, 900, 5000, 50000])
def test_deep_nesting_does_not_raise(depth: int) -> None:
    text = "import mirage\n@mirage.optimize\ndef f(x):\n    return x" + " + 1" * depth + "\n"
    found = find(text)
    assert all(len(f.digest) == 64 for f in found.functions)
    assert found.functions if depth == 100 else isinstance(found.problems, list)


BASE = (
    'import mirage as mi\nfrom jaxtyping import Float16\nB = 3\n\n@mi.optimize(dims={"b": (1, B)})\n'
    'def f(x: Float16[Tensor, "b 4"], y=1.0):\n    """é"""\n    return g(x) * y\n\ndef g(z):\n    return z\n'
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(BASE)), st.integers(0, 12), st.text(alphabet="\n @()[]{}\"'#:=\\def x\t\r,é", max_size=6))
def test_edits_never_make_it_raise(at: int, cut: int, new: str) -> None:
    found = find(BASE[:at] + new + BASE[at + cut :])
    for f in found.functions:
        assert f.line >= f.decorator_line >= 1 and f.end_line >= f.line
        assert len(f.digest) == 64
    assert isinstance(found.problems, list)


@pytest.mark.parametrize(
    "change", ["return  g( x )*y  # why", "return g(x) * y\n    # more", '"""w"""\n    return g(x)*y']
)
def test_digest_ignores_how_it_is_written(change: str) -> None:
    text = BASE.replace('    """é"""\n', "")
    (before,), (after,) = find(text).functions, find(text.replace("return g(x) * y", change)).functions
    assert before.digest == after.digest


@pytest.mark.parametrize(
    ("old", "new"), [("* y", "+ y"), ("return z", "return -z"), ("y=1.0", "y=1"), ("def f", "def h")]
)
def test_digest_sees_what_it_computes(old: str, new: str) -> None:
    (before,), (after,) = find(BASE).functions, find(BASE.replace(old, new)).functions
    assert before.digest != after.digest
