"""Frames to bytes and back, and what is refused although its types are right."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings

from reknit.model.event import MARKS_BYTES_MAX, Event
from reknit.model.pattern import Pattern
from reknit.wire import codec
from reknit.wire.codec import (
    AROUND_MAX,
    DATAGRAM_BYTES_MAX,
    DIGEST_BYTES_MAX,
    FRAME_BYTES_MAX,
    NAME_CHARS_MAX,
    PATH_BROKERS_MAX,
    RUNS_MAX,
    TEXT_CHARS_MAX,
    BadFrame,
    decode,
    decode_direct,
    encode,
)
from reknit.wire.messages import (
    Abort,
    Ack,
    Apart,
    Around,
    Asker,
    AskHeld,
    Change,
    Commit,
    Ctrl,
    Data,
    Direct,
    Done,
    Events,
    Farewell,
    Flush,
    Frame,
    Held,
    Hello,
    Keeps,
    Known,
    Leave,
    Loose,
    Manner,
    Message,
    Misses,
    MissesOf,
    Prepare,
    Prepared,
    Rec,
    Refuse,
    Release,
    Repair,
    Rest,
    Seek,
    Silent,
    Snapshot,
    Sought,
    Sub,
    Unsub,
    Wants,
)
from tests.wire.strategies import EXAMPLES, directs, frames


@settings(max_examples=300)
@given(frames)
def test_what_is_encoded_comes_back(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@settings(max_examples=100)
@given(directs)
def test_what_goes_past_the_tree_comes_back(message: Direct) -> None:
    assert decode_direct(encode(message)) == message


@pytest.mark.parametrize("frame", EXAMPLES, ids=lambda frame: type(frame).__name__)
def test_each_kind_comes_back_and_its_bytes_do_not_depend_on_anything_else(frame: Frame) -> None:
    data = encode(frame)
    assert decode(data) == frame
    assert encode(decode(data)) == data


def test_there_is_an_example_of_each_kind() -> None:
    kinds = {type(frame) for frame in EXAMPLES} | {
        type(message) for frame in EXAMPLES if isinstance(frame, Data) for message in frame.messages
    }
    assert kinds == {*get_args(Frame), *get_args(Message)}


def test_an_old_frame_can_be_read_for_ever() -> None:
    """The first two are of version 1, and stand in stores. If the last must change, so must the version."""
    frame = Data(7, 2, 1, 1, [Sub([Pattern("a", "x > 3")]), Events([Event("a", b"p", source="s", seq=1)])])
    old = "9601070201019292019192a161a578203e203392009199a161c4017080908000a0a17301"
    assert decode(bytes.fromhex(old)) == frame
    later = "9601070201019292019192a161a578203e20339200919ca161c4017080908000a0a17301c0c0c0"
    assert decode(bytes.fromhex(later)) == frame
    now = "9601070201019292019192a161a578203e20339200919da161c4017080908000a0a17301c0c0c0c400"
    assert encode(frame).hex() == now


def _data(message: Message) -> Data:
    return Data(1, 1, 0, 0, [message])


def _change(**fields: Any) -> Change:
    return Change(**{"id": "c", "strategy": "path", "path": ["b1", "b2", "b3"], "near": 1, **fields})


LONG = "n" * (NAME_CHARS_MAX + 1)


@pytest.mark.parametrize(
    "frame",
    [
        _data(Events([Event("a/+", source="s", seq=1)])),
        _data(Events([Event("", source="s", seq=1)])),
        _data(Events([Event("a", source="", seq=1)])),
        _data(Events([Event("a", source="s", seq=0)])),
        _data(Events([Event("a", source="s", seq=-1)])),
        _data(Events([Event("a", source="s", seq=2**63)])),
        _data(Events([Event("a", source="s", seq=1, qos=3)])),
        _data(Events([Event("a", source="s", seq=1, qos=-1)])),
        _data(Events([Event("a", source="s", seq=1, attributes={"x": 2**63})])),
        _data(Events([Event("a", source="s", seq=1, derived={"": 1})])),
        _data(Events([Event("a", source=LONG, seq=1)])),
        _data(Sub([Pattern("a/#/b")])),
        _data(Sub([Pattern("a", "x >")])),
        _data(Sub([Pattern("a", "3 < x")])),  # not canonical
        _data(Unsub([Pattern("")])),
        _data(Known("b1", [Pattern("#a")], [])),
        _data(Known("b1", [], [Pattern("#a")])),
        _data(Known(LONG, [], [])),
        _data(Snapshot([("", [Pattern("a+")])], True)),
        _data(Snapshot([(LONG, [])], True)),
        _data(Seek(("b", 1), LONG, [])),
        _data(Seek((LONG, 1), "b", [])),
        _data(Seek(("b", 1), "b", [LONG])),
        _data(Seek(("b", 1), "b", ["b"] * (PATH_BROKERS_MAX + 1))),
        _data(Sought(("b", 1), ["b"] * (PATH_BROKERS_MAX + 1), "")),
        _data(Sought(("b", 1), [], "x" * (TEXT_CHARS_MAX + 1))),
        _data(Release((LONG, 1))),
        _data(Prepare(_change(id=LONG), "", False)),
        _data(Prepare(_change(strategy=LONG), "", False)),
        _data(Prepare(_change(), LONG, False)),
        _data(Prepare(_change(path=["b1", "b2"]), "", False)),  # nothing to replace
        _data(Prepare(_change(path=["b1", "b2", "b1"]), "", False)),
        _data(Prepare(_change(path=["b1", "b2", LONG]), "", False)),
        _data(Prepare(_change(near=-1), "", False)),
        _data(Prepare(_change(near=2), "", False)),
        _data(Prepared(LONG, "", False)),
        _data(Prepared("c", "x" * (TEXT_CHARS_MAX + 1), False)),
        _data(Commit(_change(near=2))),
        _data(Flush(_change(near=2))),
        _data(Rec(_change(near=2), [], [], b"", True)),
        _data(Rec(_change(), [Pattern("#a")], [], b"", True)),
        _data(Rec(_change(), [], [Pattern("#a")], b"", True)),
        _data(Rec(_change(), [], [], b"x" * (DIGEST_BYTES_MAX + 1), True)),
        _data(Held("c", [Pattern("#a")], True)),
        *(_data(kind(LONG)) for kind in (Abort, Ctrl, AskHeld, Done)),
        Hello(1, "flooding", LONG, "", 1, 0, 0, True, None),
        Hello(1, "flooding", "b", LONG, 1, 0, 0, True, None),
        Hello(1, "flooding", "b", "", 1, 0, 0, True, (LONG, 1)),
        Refuse("x" * (TEXT_CHARS_MAX + 1), True, False),
        Farewell("x" * (TEXT_CHARS_MAX + 1)),
    ],
)
def test_a_neighbour_is_trusted_no_further_than_a_client(frame: Frame) -> None:
    with pytest.raises(BadFrame):
        decode(encode(frame))


ASKER = Asker("b", "host:1", 1)


@pytest.mark.parametrize(
    "message",
    [
        Silent(LONG, [], 0),
        Silent("s", [(1, 0)], 0),
        Silent("s", [(-1, 1)], 0),
        Silent("s", [(1, 1)], 256),
        Silent("s", [], 0, (LONG,)),
        Silent("s", [], 0, ("b",) * 257),
        Silent("s", [], 0, (), LONG),
        Silent("s", [], 0, (), "", -1),
        Silent("s", [(1, 1)] * (RUNS_MAX + 1), 0),
        Keeps(Asker("", "", 1), 1, [], 0),
        Keeps(Asker("b", LONG, 1), 1, [], 0),
        Keeps(Asker("b", "", 0), 1, [], 0),
        Keeps(ASKER, 1, [], -1),
        Keeps(ASKER, -1, [], 0),
        Keeps(ASKER, 1, [("s", [(0, 1)])], 0),
        Keeps(ASKER, 1, [("s", [(3, 2)])], 0),
        Keeps(ASKER, 1, [("s", [(1, 4), (4, 6)])], 0),
        Keeps(ASKER, 1, [("s", [(5, 6), (1, 2)])], 0),
        Keeps(ASKER, 1, [("s", [(1, 2**63)])], 0),
        Keeps(ASKER, 1, [(LONG, [])], 0),
        Keeps(ASKER, 1, [("s", [])] * (RUNS_MAX + 1), 0),
        Misses(ASKER, Manner.ANYBODY, 1, -1.0, [], 0),
        Misses(ASKER, Manner.ANYBODY, 1, math.inf, [], 0),
        Misses(ASKER, Manner.ANYBODY, 1, math.nan, [], 0),
        MissesOf(ASKER, LONG, [], [], ""),
        MissesOf(ASKER, "s", [], [LONG], ""),
        MissesOf(ASKER, "s", [], ["b"] * 257, ""),
        MissesOf(ASKER, "s", [(1, 0.0, [(2, 1)])], [], ""),
        MissesOf(ASKER, "s", [], [], "", -1),
        MissesOf(ASKER, "s", [], [], "", 0, [(LONG, [(1, 0.0, [(1, 2)])])]),
        MissesOf(ASKER, "s", [], [], "", 0, [("x", [(1, -1.0, [(1, 2)])])]),
        MissesOf(ASKER, "s", [], [], "", 0, [("x", [])] * (RUNS_MAX + 1)),
        MissesOf(ASKER, "s", [], [], "", 0, [("x", [(1, 0.0, [])] * (RUNS_MAX + 1))]),
        MissesOf(ASKER, "s", [], [], "", 0, [], [-1]),
        MissesOf(ASKER, "s", [], [], "", 0, [], [1] * (RUNS_MAX + 1)),
        Events([Event("a", source="s", seq=1, number=-1)]),
        Events([Event("a", source="s", seq=1, number=2**63)]),
        Events([Event("a", source="s", seq=1, number=1, marks=bytes(MARKS_BYTES_MAX + 1))]),
    ],
)
def test_gossip_that_cannot_be_true_is_no_gossip(message: Message) -> None:
    for frame in (_data(message), Loose(1, [message])):
        with pytest.raises(BadFrame):
            decode(encode(frame))
    if isinstance(message, MissesOf):
        with pytest.raises(BadFrame):
            decode_direct(encode(message))


@pytest.mark.parametrize(
    "message",
    [
        Wants(ASKER, 1, 1.0, [("s", [(2, 1)])]),
        Wants(Asker("", "", 1), 1, 1.0, []),
        Repair("b", 1, [1.0], []),
        Repair("b", 1, [-1.0], [Event("a", source="s", seq=1)]),
        Repair("b", 1, [1.0], [Event("a/+", source="s", seq=1)]),
        Repair(LONG, 1, [], []),
        Repair("b", 1, [], [], [(1, [(2, 1)])]),
        Repair("b", 1, [], [], [], [(-1, [(1, 1)])]),
        Repair("b", 1, [], [], [], [], [(1, [(2, 1)])]),
        Repair("b", 1, [1.0], [Event("a", bytes(DATAGRAM_BYTES_MAX), source="s", seq=1)]),
        Silent("s", [], 0),  # belongs to the tree
    ],
)
def test_what_comes_past_the_tree_is_trusted_no_further(message: Direct) -> None:
    with pytest.raises(BadFrame):
        decode_direct(encode(message))


def test_the_longest_path_and_its_text_fit_into_a_frame() -> None:
    path = ["🙂" * NAME_CHARS_MAX] * PATH_BROKERS_MAX
    assert len(encode(_data(Seek(("b", 1), "b", path)))) < FRAME_BYTES_MAX
    assert len(" - ".join(path)) < TEXT_CHARS_MAX
    assert len(encode(Farewell("🙂" * TEXT_CHARS_MAX))) < FRAME_BYTES_MAX


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc0",
        b"\x93\x09\x01\x01",  # a tag that nobody has
        encode(Ack(1, 2, 3)) + b"\x00",
        encode(Ack(1, 2, 3))[:-1],
        msgspec.msgpack.encode([2, 1, 2, "three"]),
        msgspec.msgpack.encode([2, 1, 2, 3.5]),
        msgspec.msgpack.encode({"Ack": 1}),
        b"\x91" * 100_000,  # nested without end
    ],
)
def test_what_is_no_frame(data: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(data)


def test_neighbours_that_are_told_of_are_bounded() -> None:
    some = [(f"b{number}", "127.0.0.1:1") for number in range(AROUND_MAX)]
    assert decode(encode(_data(Around(some)))) == _data(Around(some))
    with pytest.raises(BadFrame, match="1025 brokers at once, over the 1024 that are allowed"):
        decode(encode(_data(Around([*some, ("more", "")]))))
    for bad in (Around([("b" * 1000, "")]), Apart("b" * 1000)):
        with pytest.raises(BadFrame):
            decode(encode(_data(bad)))


def test_brokers_that_are_gone_and_those_who_may_not_know_are_bounded() -> None:
    many = [f"b{number}" for number in range(AROUND_MAX + 1)]
    for frame in (_data(Leave(many)), _data(Leave(["b" * 1000])), Refuse("", True, True, many)):
        with pytest.raises(BadFrame, match="over the"):
            decode(encode(frame))
    assert decode(encode(_data(Leave(many[1:])))) == _data(Leave(many[1:]))


def test_what_a_session_has_had_and_lacks_is_bounded() -> None:
    runs = [(each, each) for each in range(1, 2 * RUNS_MAX, 2)]

    def rest(had: dict[str, list[tuple[int, int]]], *lacks: tuple[str, int, int, list[tuple[int, int]]]) -> Rest:
        return Rest("ann", 1, b"", False, {}, [], had, [(5, 1.0, 2.0)], list(lacks))

    for good in (rest({"s.1": runs[1:]}, ("s.1", 5, 9, runs[1:])), rest({}, ("s.1", 5, 0, [(1, 2)]))):
        assert decode(encode(_data(good))) == _data(good)
    for bad in (
        rest({"s.1": runs}),
        rest({}, ("s.1", 5, 9, runs)),
        rest({"s.1": [(3, 2)]}),
        rest({}, ("s.1", 5, 0, [])),
        rest({}, ("s.1", 5, -1, [(1, 2)])),
        rest({}, ("s" * 1000, 5, 9, [])),
        Rest("ann", 1, b"", False, {}, [], {}, [(5, -1.0, 1.0)]),
        Rest("ann", 1, b"", False, {}, [], {}, [(5, 1.0, 1.0)] * (RUNS_MAX + 1)),
    ):
        with pytest.raises(BadFrame):
            decode(encode(_data(bad)))


def test_a_frame_that_is_too_long_is_not_looked_at() -> None:
    with pytest.raises(BadFrame, match="over the"):
        decode(bytes(FRAME_BYTES_MAX + 1))


def test_remembered_topics_are_bounded_and_bad_ones_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_GOOD_TOPICS_MAX", 4)
    for number in range(20):
        decode(encode(_data(Events([Event(f"some/topic/{number}", source="s", seq=1)]))))
        with pytest.raises(BadFrame):
            decode(encode(_data(Events([Event(f"some/+/{number}", source="s", seq=1)]))))
    assert len(codec._good_topics) <= 4
