"""An entry of a shared cache as bytes: the key of a question, and the µGraph that answers it as data that has yet to be verified.

Beside the µGraph stand its derivation and evidence, for people and for audits: no daemon reads them. No text of a module
is among it. `FORM`, a SHA-256, and the msgpack map of texts that it is of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields

import msgpack

from mirage.errors import ProtocolError, RemoteCacheFault
from mirage.link.payload_limits import check_payload
from mirage.results.codec import unstructure
from mirage.results.result import Result

FORM = b"mirage entry 1\n"
DIGEST_BYTES = 32
MAX_ITEMS, MAX_DEPTH = 32, 2
MAX_MUGRAPH = 1 << 20  # characters of a µGraph's JSON


@dataclass(frozen=True)
class RemoteEntry:
    """What travels. `question` and `program` are digests as hexadecimal; `mugraph`, `derivation`, `evidence` and `versions` are
    JSON."""

    question: str
    program: str
    mugraph: str
    derivation: str
    evidence: str
    versions: str

    @staticmethod
    def of(question: str, result: Result) -> RemoteEntry | None:
        """The entry of an answer; None where it is not for others: no kernel, several sizes, or too long a µGraph."""
        if result.answer != "kernel" or len(result.mugraphs) != 1 or len(result.by_size) > 1:
            return None
        graph = mugraph_text(result)
        if len(graph) > MAX_MUGRAPH:
            return None
        evidence = None if result.verdict is None else unstructure(result.verdict)
        return RemoteEntry(
            question,
            result.program_key,
            graph,
            json.dumps(result.derivation, sort_keys=True),
            json.dumps(evidence, sort_keys=True),
            json.dumps(result.versions, sort_keys=True),
        )

    def to_bytes(self) -> bytes:
        body: bytes = msgpack.packb(asdict(self))
        return FORM + hashlib.sha256(body).digest() + body

    @staticmethod
    def read(content: bytes, question: str) -> RemoteEntry:
        """What the bytes under a question's key say. RemoteCacheFault for what is no whole entry of this form, and for the entry of
        another question (an older version's too: its code is a part of the key). Whether the µGraph is right it does not say."""
        start = len(FORM) + DIGEST_BYTES
        if not content.startswith(FORM):
            raise RemoteCacheFault("what lies there is no entry of this version")
        body = content[start:]
        if hashlib.sha256(body).digest() != content[len(FORM) : start]:
            raise RemoteCacheFault("an entry is torn or was changed: its digest is another")
        try:
            check_payload(body, max_items=MAX_ITEMS, max_depth=MAX_DEPTH)
            said = msgpack.unpackb(body)
        except (ProtocolError, ValueError, msgpack.exceptions.UnpackException) as e:
            raise RemoteCacheFault(f"an entry cannot be read: {e}") from None
        wanted = {f.name for f in fields(RemoteEntry)}
        if not isinstance(said, dict) or set(said) != wanted or not all(isinstance(x, str) for x in said.values()):
            raise RemoteCacheFault("an entry has not the fields of one")
        entry = RemoteEntry(**said)
        if entry.question != question:
            raise RemoteCacheFault("an entry answers another question than the one of its key")
        if len(entry.mugraph) > MAX_MUGRAPH:
            raise RemoteCacheFault(f"a µGraph of {len(entry.mugraph)} characters is over the limit of {MAX_MUGRAPH}")
        return entry


def mugraph_text(result: Result) -> str:
    """The only µGraph of a result, so written that equal ones have equal texts."""
    return json.dumps(result.mugraphs[0], sort_keys=True, separators=(",", ":"))
