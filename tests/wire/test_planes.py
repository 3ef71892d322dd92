from __future__ import annotations

import msgspec
import pytest

from reknit.wire.planes import (
    PLACES_MAX,
    REPORT_TOPICS_MAX,
    SEATS_MAX,
    Dismiss,
    Place,
    Places,
    PlanesMessage,
    Report,
    Seats,
    Stage,
    Staged,
    Step,
    check_planes,
)

PLACE: Place = ((7, "b1", "host:1"), 2**64 - 1)
WORDS: list[PlanesMessage] = [
    Stage(2, 1, Step.INIT, "b1", [PLACE]),
    Stage(2, 1, Step.FINISH, "b1"),
    Staged(2, Step.PUBSUB),
    Staged(2, Step.INIT, "because"),
    Dismiss(2, "because"),
    Places(2, [PLACE]),
    Seats(2, [("a/b", 1, -1, 2), ("a/b", 1, 2, -1)], True),
    Report(2, (1, "b1", "b1"), ["a/b"], [("a/b", 7)]),
]
_decoder: msgspec.msgpack.Decoder[PlanesMessage] = msgspec.msgpack.Decoder(PlanesMessage)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
def test_words_come_out_of_their_bytes_as_they_went_in(word: PlanesMessage) -> None:
    assert _decoder.decode(msgspec.msgpack.encode(word)) == word
    check_planes(word)


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (Stage(-1, 1, Step.INIT, "b1"), "a version of -1"),
        (Stage(2, -1, Step.INIT, "b1"), "a version of -1"),
        (Stage(2, 1, Step.INIT, ""), "a broker's name"),
        (Stage(2, 1, Step.INIT, "b1", [((7, "b1", ""), -1)]), "a ring id of -1"),
        (Places(2, [((-7, "b1", ""), 1)]), "a ring id of -7"),
        (Places(2, [PLACE] * (PLACES_MAX + 1)), "10001 places"),
        (Staged(2, Step.INIT, "x" * 5000), "a reason of 5000 characters"),
        (Dismiss(2, "x" * 5000), "a reason of 5000 characters"),
        (Seats(2, [("#", 1, 1, 1)], True), "wildcard"),
        (Report(2, (1, "b1", "b1"), ["#"], []), "wildcard"),
        (Report(2, (1, "b1", "b1"), [], [("a", -1)]), "counts from 0 on, not -1"),
        (Report(2, (1, "b1", "b1"), ["a"] * (2 * REPORT_TOPICS_MAX + 1), []), "a report of 8193 topics"),
        (Report(2, (-1, "b1", "b1"), [], []), "a ring id of -1"),
        (Seats(2, [("a", -1, 1, 1)], True), "a ring id of -1"),
        (Seats(2, [("a", 1, -2, 1)], True), "a ring id of -2"),
        (Seats(2, [("a", 1, 1, 1)] * (SEATS_MAX + 1), True), "1025 entries at once"),
    ],
)
def test_what_no_broker_should_say_is_refused_with_the_reason(word: PlanesMessage, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_planes(word)
