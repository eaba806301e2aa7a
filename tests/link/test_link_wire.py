"""Frames: what fits comes through unchanged, everything else is ProtocolError, cheaply."""

import random
import struct
import time
import tracemalloc

import attrs
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirage.errors import ProtocolError
from mirage.link import protocol, requests
from mirage.link.payload_limits import check_payload

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=60,
)
SIZES = [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536]


def payload(frame):
    assert struct.unpack(">I", frame[:4])[0] == len(frame) - 4
    return frame[4:]


@settings(deadline=None)
@given(plain)
def test_a_message_comes_back_as_it_went(body):
    message = {"type": "reply", "id": 1, "body": body}
    assert protocol.decode(payload(protocol.encode(message))) == message


@pytest.mark.parametrize("size", SIZES)
def test_every_width_of_length_is_understood(size):
    for body in ("x" * size, b"x" * size, [0] * size):
        message = {"type": "reply", "id": 1, "body": body}
        assert protocol.decode(payload(protocol.encode(message))) == message
    check_payload(msgpack.packb({str(i): i for i in range(size)}), max_items=2 * size + 1, max_depth=1)


@pytest.mark.parametrize("size", SIZES)
def test_the_count_is_exact(size):
    data = msgpack.packb([[1.5, 2**40, -5, "é" * 40, b"b", None]] * size)
    check_payload(data, max_items=7 * size + 1, max_depth=2)
    with pytest.raises(ProtocolError, match="more than"):
        check_payload(data, max_items=7 * size, max_depth=2)
    if size:
        with pytest.raises(ProtocolError, match="deeper"):
            check_payload(data, max_items=7 * size + 1, max_depth=1)


@pytest.mark.parametrize("body", ["\ud800", {"\udcff": 1}, 2**64, -(2**63) - 1, [[10**30]]])
def test_what_has_no_form_on_the_wire_is_not_sent(body):
    with pytest.raises(ProtocolError, match="cannot be written"):
        protocol.encode({"type": "reply", "id": 1, "body": body})


def nested(levels):
    data = b"\x00"
    for _ in range(levels):
        data = b"\x91" + data
    return data


@pytest.mark.parametrize(
    "bomb",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff" + b"\x80" * 1000,
        b"\xc6\xff\xff\xff\xff",
        msgpack.packb({"type": "x", "a": [{}] * 99_999}),
        b"\xdd\x00\x0f\xff\xff" + b"\x80" * 0xFFFFF,
        nested(1000),
        nested(100_000),
        b"\x91" * 1_000_000,
        msgpack.packb({"type": "x", "a": msgpack.ExtType(5, b"x")}),
        msgpack.packb({"type": "x", "a": msgpack.Timestamp(1)}),
        msgpack.packb({1: 2, "type": "x"}),
        msgpack.packb({"type": 5}),
        msgpack.packb([]),
        msgpack.packb({"type": "x"}) + b"\x00",
        b"\x81\xa4type\xa1\xff",
        b"\xc1",
        b"",
    ],
)
def test_bombs_are_refused_in_little_time_and_memory(bomb):
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(ProtocolError):
        protocol.decode(bomb)
    assert time.process_time() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_mutated_frames_never_raise_anything_else():
    chance = random.Random(1)
    seeds = [
        protocol.encode(
            {"type": kind, "id": 3, "deadline_s": 5.0, "body": {"text": "a" * 40, "job": "b", "priority": 1}}
        )
        for kind in ("hello", *requests.BY_NAME)
    ]
    refused = 0
    for _ in range(5000):
        data = bytearray(payload(chance.choice(seeds)))
        for _ in range(chance.randrange(1, 6)):
            at, what = chance.randrange(len(data)), chance.randrange(3)
            if what == 0:
                data[at] = chance.randrange(256)
            elif what == 1:
                del data[at : at + chance.randrange(1, 9)]
            else:
                data[at:at] = chance.randbytes(chance.randrange(1, 9))
            data = data or bytearray(b"\x80")
        try:
            message = protocol.decode(bytes(data))
            protocol.structure(message.get("body"), protocol.Submit)
        except ProtocolError:
            refused += 1
    assert refused > 4000


def test_a_message_that_is_too_large_is_not_sent():
    with pytest.raises(ProtocolError, match="over the limit"):
        protocol.encode({"type": "reply", "body": b"x" * protocol.MAX_FRAME})


SUBMIT = {"text": "t", "path": "p", "function": "f"}


def test_defaults_are_filled_in_and_every_request_has_its_class():
    assert protocol.structure(SUBMIT, protocol.Submit) == protocol.Submit("t", "p", "f")
    assert protocol.structure({"version": 1, "package": "0", "pid": 2, "uptime_s": 3}, protocol.Welcome).uptime_s == 3.0
    for row in requests.BY_NAME.values():
        assert attrs.has(row.body)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {**SUBMIT, "text": 5},
        {**SUBMIT, "text": b"t"},
        {**SUBMIT, "priority": "1"},
        {**SUBMIT, "priority": True},
        {**SUBMIT, "priority": 1.0},
        {**SUBMIT, "trusted": 1},
        {**SUBMIT, "trusted": "no"},
        {**SUBMIT, "more": 1},
        {"text": "t", "path": "p"},
    ],
)
def test_a_body_of_the_wrong_form_is_refused(wrong):
    with pytest.raises(ProtocolError, match="Submit"):
        protocol.structure(wrong, protocol.Submit)
