"""The cache key of a question: a digest of everything that can change the answer, computed from the text without tracing.

`KEY_INPUTS` is the whole list. Two questions with the same rows have the same answer; a row that is missing here is a
wrong answer one day. No row holds a path.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import platform
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path

import attrs

import mirage
import mirage_original
from mirage.errors import MirageError
from mirage.ir.narrowing import Narrowing
from mirage.link.regular_file import read_regular
from mirage.link.request_parameters import SearchOptions
from mirage.link.version import DISTRIBUTION, package_version
from mirage_daemon.function_text import FunctionText, read_within_bounds
from mirage_daemon.text_processes import LONG_TEXT, TextProcesses

DRIVER = Path("/proc/driver/nvidia")
OUR_PACKAGES = (mirage, mirage_original)  # whose files take part in an answer
PACKAGES = ("torch", "triton", "z3-solver", "numpy", DISTRIBUTION)  # their versions in the project's interpreter


@dataclass(frozen=True)
class JobQuestion:
    """What is asked, as far as it can change the answer. `text` is the decorated function's own, comments included:
    the result carries it as the fallback and for the way back, and those have to be the user's present bytes."""

    slice: str
    function: str
    text: str
    inputs: str
    options: str
    target: str
    packages: tuple[tuple[str, str], ...]
    python: str
    mirage: str
    code: str
    devices: tuple[str, ...]
    environment: str


KEY_INPUTS: dict[str, Callable[[JobQuestion], str]] = {
    "slice": lambda q: q.slice,  # the function and all it refers to, without comments, formatting, annotations
    "function": lambda q: q.function,
    "text": lambda q: q.text,
    "inputs": lambda q: q.inputs,  # names, shapes, dtypes of every row that `dims=` asks for
    "options": lambda q: q.options,  # the bounds of the search, the user's rules, what narrows it
    "target": lambda q: q.target,
    "packages": lambda q: json.dumps(q.packages),
    "python": lambda q: q.python,
    "mirage": lambda q: q.mirage,
    "code": lambda q: q.code,  # our own files: operators, rules, search bounds, verifier, emission
    "devices": lambda q: json.dumps(q.devices),
    "environment": lambda q: q.environment,  # its packages run before any line of ours: it answers for nobody else
}

OF_THE_MACHINE = ("packages", "python", "devices", "environment")  # rows that another machine need not share


def key(question: JobQuestion) -> bytes:
    """SHA-256 over all rows of KEY_INPUTS."""
    return _digest("alias", ((name, read(question)) for name, read in KEY_INPUTS.items()))


def target_key(question: JobQuestion) -> bytes:
    """The question as any machine asks it that has this version: under it lies what one with the target's GPU measured. An answer
    there is a proposal; what this machine's packages make of it is verified by them."""
    return _digest(
        "target", ((name, read(question)) for name, read in KEY_INPUTS.items() if name not in OF_THE_MACHINE)
    )


def result_key(question_key: bytes, program_key: str) -> bytes:
    """Where the result itself lies: the question, and the program that tracing found in it."""
    return _digest("result", (("question", question_key.hex()), ("program", program_key)))


def _digest(kind: str, rows: Iterable[tuple[str, str]]) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for name, value in rows:
        for part in (name.encode(), value.encode("utf-8", "surrogatepass")):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def ask(
    text: str,
    path: str,
    function: str,
    target: str,
    interpreter: str,
    options: str = "",
    part: FunctionText | None = None,
) -> JobQuestion:
    """The question that a client's request asks. Parses, unless what the text says is known (`part`), and runs nothing; raises what
    `mirage.source` says is wrong."""
    part = part or part_of(text, path, function)
    return JobQuestion(
        slice=part.digest,
        function=function,
        text=part.own,
        inputs=part.inputs,
        options=options,
        target=target,
        packages=package_versions(interpreter),
        python=_python(interpreter),
        mirage=package_version(),
        code=code_digest(),
        devices=devices(),
        environment=environment_of(interpreter),
    )


def common(question: JobQuestion) -> bytes | None:
    """The key under which the daemon's own interpreter would answer the question; None where its packages are others."""
    ours = (package_versions(sys.executable), _python(sys.executable))
    return key(replace(question, environment="")) if (question.packages, question.python) == ours else None


def environment_of(interpreter: str) -> str:
    """Whose environment answers: "" the daemon's own, else the digest of that one's folder."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(interpreter)))
    return "" if _is_ours(interpreter) else hashlib.sha256(os.fsencode(folder)).hexdigest()


_PARTS: OrderedDict[bytes, FunctionText] = OrderedDict()  # an editor asks for the same text again and again
MAX_PARTS, MAX_PART = 512, 1 << 16
PROCESSES = TextProcesses()


def _part_key(text: str, function: str) -> bytes:
    return _digest("part", (("text", text), ("function", function)))


def known_part(text: str, function: str) -> FunctionText | None:
    """The part, if it was read before: no parsing, so cheap enough for an event loop where the text is short."""
    return _PARTS.get(_part_key(text, function))


def part_of(text: str, path: str, function: str) -> FunctionText:
    """What a text says of a function: known from before, or parsed now, a long text in a process of its own. Raises what
    `mirage.source` says is wrong."""
    place = _part_key(text, function)
    part = _PARTS.get(place)
    if part is None:
        reads = PROCESSES.read if len(text) > LONG_TEXT else read_within_bounds
        part = reads(text, path, function)
        if len(part.own) + len(part.least) <= MAX_PART:
            _PARTS[place] = part
            while len(_PARTS) > MAX_PARTS:
                with contextlib.suppress(KeyError):  # another thread was faster
                    _PARTS.popitem(last=False)
    return part


def least(text: str, path: str, function: str) -> str:
    """The least text that says of `function` what `text` says; "" where there is none."""
    part = part_of(text, path, function)
    with contextlib.suppress(MirageError):
        same = part_of(part.least, path, function)
        if (same.digest, same.own, same.inputs) == (part.digest, part.own, part.inputs):
            return part.least
    return ""


def as_text(options: SearchOptions) -> str:
    """What a request asks of the search, as the row of that name. Raises BadSearchParameter."""
    Narrowing.of(**options.given)
    return json.dumps(attrs.asdict(options), sort_keys=True)


def package_versions(interpreter: str) -> tuple[tuple[str, str], ...]:
    """The versions of PACKAGES that `interpreter` would import, read from its folders; nothing of it is run."""
    folders = tuple(sys.path) if _is_ours(interpreter) else _site_folders(interpreter)
    return _versions(folders, tuple(_changed(f) for f in folders))


@lru_cache(maxsize=64)
def _versions(folders: tuple[str, ...], changed: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """`changed` are the folders' times: an installation writes to its folder, and so asks again."""
    installed: dict[str, str] = {}
    for folder in folders:
        for name, version in _installed(folder).items():
            installed.setdefault(name, version)
    return tuple((name, installed.get(_normal(name), "")) for name in PACKAGES)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _installed(folder: str) -> dict[str, str]:
    """The versions of PACKAGES in one folder of an environment, which may be anybody's: what waits, is no regular file or is too
    long counts as not there, and of a folder with very many entries the first count."""
    wanted = {_normal(name) for name in PACKAGES}
    found: dict[str, str] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in itertools.islice(entries, MAX_ENTRIES):
                match = _DISTRIBUTION.fullmatch(entry.name)
                if match is None or _normal(match["name"]) not in wanted:
                    continue
                places = [os.path.join(entry.path, name) for name in ("METADATA", "PKG-INFO")]
                said = next((x for x in (read_regular(p, MAX_METADATA) for p in (*places, entry.path)) if x), b"")
                version = _VERSION.search(said.split(b"\n\n")[0])
                if version is not None:
                    found.setdefault(_normal(match["name"]), version[1].decode("utf-8", "replace").strip())
    except OSError:
        return found
    return found


_DISTRIBUTION = re.compile(r"(?P<name>[A-Za-z0-9._]+?)(-(?P<version>[^-]+)(-[^-]+)*)?\.(dist-info|egg-info)")
_VERSION = re.compile(rb"^Version:[ \t]*(.{1,200})$", re.MULTILINE)
MAX_ENTRIES, MAX_METADATA, MAX_CONFIGURATION = 100_000, 1 << 20, 1 << 16


def _site_folders(interpreter: str) -> tuple[str, ...]:
    """Where an interpreter's packages lie: its environment's, and the system's where that lets it through."""
    prefixes = [Path(os.path.abspath(interpreter)).parent.parent]  # not resolved: an environment's python is a link
    settings = _settings(prefixes[0])
    if settings.get("include-system-site-packages") == "true" and os.path.isabs(settings.get("home", "")):
        prefixes.append(Path(settings["home"]).parent)
    patterns = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")
    found = [str(f) for prefix in prefixes for pattern in patterns for f in sorted(prefix.glob(pattern))]
    return (*found, *(str(f) for f in sorted(Path.home().glob(".local/lib/python3*/site-packages"))))


def _settings(prefix: Path) -> dict[str, str]:
    """What an environment says of itself; nothing where it is none."""
    said = read_regular(str(prefix / "pyvenv.cfg"), MAX_CONFIGURATION)
    return {} if said is None else dict(_setting(line) for line in said.decode("utf-8", "replace").splitlines())


def _setting(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.strip()


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _python(interpreter: str) -> str:
    if _is_ours(interpreter):
        return platform.python_version()
    settings = _settings(Path(os.path.abspath(interpreter)).parent.parent)
    if settings:
        return settings.get("version") or settings.get("version_info", "")
    return os.path.basename(os.path.realpath(interpreter))  # python3.12


def _is_ours(interpreter: str) -> bool:
    return os.path.abspath(interpreter) == os.path.abspath(sys.executable)


def code_digest() -> str:
    """Of every file of ours that takes part in an answer. Cheap when nothing changed; looked at once a second."""
    return _code_now(int(time.monotonic()))


@lru_cache(maxsize=1)
def _code_now(second: int) -> str:
    return _code(tuple(sorted(x for p in OUR_PACKAGES for x in _python_files(os.path.dirname(str(p.__file__))))))


def _python_files(folder: str) -> Iterator[tuple[str, int, int]]:
    """(path, time of change, bytes) of every Python file below."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _python_files(entry.path)
        elif entry.name.endswith(".py"):
            facts = entry.stat()
            yield entry.path, facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=4)
def _code(files: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, _, _ in files:
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest() + os.path.basename(path).encode())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def devices() -> tuple[str, ...]:
    """The GPUs' models and the driver's version, from the kernel's own files; empty without an NVIDIA driver."""
    found = []
    for information in sorted(DRIVER.glob("gpus/*/information")):
        found += [line for line in information.read_text("utf-8", "replace").splitlines() if line.startswith("Model")]
    version = DRIVER / "version"
    return (*found, version.read_text("utf-8", "replace").strip()) if version.is_file() else tuple(found)


def fields_without_a_row() -> set[str]:
    """Fields of Question that no row of KEY_INPUTS is named after (there should be none)."""
    return {f.name for f in fields(JobQuestion)} - set(KEY_INPUTS)
