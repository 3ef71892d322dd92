"""Properties by name: to the library and back, and which cannot be."""

from __future__ import annotations

import pytest

from reknit.client.errors import BadRequest
from reknit.client.properties import NAMES, Pairs, from_paho, to_paho


def test_there_and_back() -> None:
    pairs: Pairs = (
        ("payload-format-indicator", 1),
        ("message-expiry-interval", 60),
        ("content-type", "text/plain"),
        ("response-topic", "a/b"),
        ("correlation-data", b"\x00\xff"),
        ("user-property", ("k", "v")),
        ("user-property", ("k", "w")),
    )
    assert from_paho(to_paho("publish", pairs)) == pairs
    assert to_paho("publish", ()) is None
    assert from_paho(None) == ()


@pytest.mark.parametrize(
    ("pair", "why"),
    [
        (("colour", "red"), "'colour' is no property; known: "),
        (("will-delay-interval", 1), "no property of PUBLISH"),
        (("topic-alias", 0), "out of range"),
        (("message-expiry-interval", -1), "between 0 and 4294967295"),
        (("message-expiry-interval", "soon"), "between 0 and 4294967295"),
    ],
)
def test_what_cannot_be(pair: tuple[str, str | int], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        to_paho("publish", [pair])


def test_every_name_is_one_of_the_library() -> None:
    for name, kind in NAMES.items():
        value: object = {"text": "x", "binary": b"x", "pair": ("a", "b")}.get(kind, 1)
        assert any(_fits(packet, name, value) for packet in ("connect", "publish", "subscribe", "will")), name


def _fits(packet: str, name: str, value: object) -> bool:
    try:
        return to_paho(packet, [(name, value)]) is not None  # type: ignore[arg-type, list-item]
    except BadRequest:
        return False
