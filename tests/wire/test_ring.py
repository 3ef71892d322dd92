from __future__ import annotations

import msgspec
import pytest

from reknit.model.event import Event
from reknit.wire import messages
from reknit.wire.ring import (
    SPOTS_MAX,
    Branch,
    Bye,
    Down,
    Find,
    Found,
    Hand,
    Notify,
    Poll,
    Ringed,
    RingMessage,
    SameId,
    Spot,
    State,
    Up,
    Wanted,
    check_on_its_way,
    check_ring_message,
    check_ringed,
)

B1: Spot = (2**64 - 1, "b1", "host:1")
B2: Spot = (0, "b2", "")
WORDS: list[RingMessage] = [
    Find(7, B1, -1, 3),
    Found(7, 63, B2),
    Poll(B1),
    State(B1, None, [B2]),
    State(B1, B2, []),
    Notify(B2),
    Bye(B1, B2, [B2]),
    SameId(B1),
    Wanted("a/b", 2**64 - 1, True, 1),
    Branch("a/b", 0, False),
    Hand(0, 2**64 - 1, [("a/b", [1, 2]), ("c", [])], True),
]
_decoder: msgspec.msgpack.Decoder[RingMessage] = msgspec.msgpack.Decoder(RingMessage)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
def test_words_come_out_of_their_bytes_as_they_went_in(word: RingMessage) -> None:
    data = msgspec.msgpack.encode(word)
    assert _decoder.decode(data) == word
    check_ring_message(word)
    for end in range(len(data)):
        with pytest.raises(msgspec.DecodeError):
            _decoder.decode(data[:end])


MANY: list[Spot] = [(number, f"b{number}", "") for number in range(SPOTS_MAX + 2)]


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (Find(-1, B1, 0), "a ring id of -1"),
        (Find(2**64, B1, 0), "a ring id of"),
        (Find(1, B1, 64), "a purpose of 64"),
        (Find(1, B1, 0, -1), "a number of hops of -1"),
        (Found(1, 0, (1, "", "")), "a broker's name has 1 to 256 characters"),
        (Poll((1, "b" * 257, "")), "a broker's name has 1 to 256 characters"),
        (Notify((-5, "b1", "")), "a ring id of -5"),
        (State(B1, None, MANY), "67 brokers at once"),
        (Bye(B1, None, MANY), "67 brokers at once"),
        (Wanted("a/#", 1, True), "wildcard"),
        (Branch("", 1, True), "topic"),
        (Branch("a", -1, True), "a ring id of -1"),
        (Hand(-1, 0, [], True), "a ring id of -1"),
        (Hand(0, 0, [("#", [])], True), "wildcard"),
        (Hand(0, 0, [("a", [-1])], True), "a ring id of -1"),
        (Hand(0, 0, [("a", [])] * 65, True), "65 topics at once"),
    ],
)
def test_what_no_broker_should_say_is_refused_with_the_reason(word: RingMessage, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_ring_message(word)


EVENT = Event("a", source="b1.1", seq=7)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Up(-1, [], [], []), "a version of -1"),
        (Up(1, [-1], [], []), "a ring id of -1"),
        (Up(1, [0] * 257, [], []), "a way over 257 brokers"),
        (Up(1, [], [EVENT], []), "1 events, and what comes before 0"),
        (Down(1, [], [EVENT], [7]), "a number before an event of 7"),
        (Down(1, [], [EVENT], [-1]), "a number before an event of -1"),
    ],
)
def test_events_on_a_way_that_cannot_be_are_refused(message: Up | Down, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_on_its_way(message)


def test_a_word_is_checked_with_its_version() -> None:
    check_ringed(Ringed(1, 1, 0, Poll(B1)))
    for wrong in (Ringed(-1, 1, 0, Poll(B1)), Ringed(1, -1, 0, Poll(B1)), Ringed(1, 1, -1, Poll(B1))):
        with pytest.raises(ValueError, match="of -1"):
            check_ringed(wrong)
    with pytest.raises(ValueError, match="a purpose"):
        check_ringed(Ringed(1, 1, 0, Find(1, B1, 64)))


def test_no_tag_means_two_things() -> None:
    ring = [kind.__struct_config__.tag for kind in RingMessage.__args__]
    others = [kind.__struct_config__.tag for kind in messages.Message.__args__]
    assert len(set(ring)) == len(ring)
    assert not set(ring) & set(others)
