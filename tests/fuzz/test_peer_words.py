"""Bytes from another peer: a word, or ``BadFrame``; nothing else, whatever was done to them."""

from __future__ import annotations

import random
from itertools import product
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.community.io import Due, Join, Meet, Received
from reknit.community.options import PeerOptions, ScampOptions, TopicOptions
from reknit.community.peer import Peer
from reknit.model.event import Event
from reknit.wire.codec import BadFrame
from reknit.wire.peers import Sure, Word, decode_word, encode_word
from tests.wire.peer_words import SKETCH, WORDS

VALUES = (0x00, 0x01, 0x7F, 0x80, 0x90, 0x9F, 0xA0, 0xC0, 0xC1, 0xC3, 0xC6, 0xCB, 0xCF, 0xD3, 0xDB, 0xDD, 0xFF)


def _try(data: bytes) -> bool:
    """Whether it is a word. A word that was read can be written, and is read again as the same."""
    try:
        word = decode_word(data)
    except BadFrame:
        return False
    assert decode_word(encode_word(word)) == word or "nan" in repr(word)
    return True


@pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
def test_each_byte_changed_and_cut_off_anywhere(word: Word) -> None:
    data = encode_word(word)
    taken = sum(_try(data[:at] + bytes((value,)) + data[at + 1 :]) for at in range(len(data)) for value in VALUES)
    assert 0 < taken < len(data) * len(VALUES)
    assert not any(_try(data[:length]) for length in range(len(data)))
    assert not _try(data + data)


@settings(max_examples=200)
@given(st.binary(max_size=120))
def test_any_bytes(data: bytes) -> None:
    _try(data)
    _try(b"\x01" + data)


EXTREMES: dict[object, tuple[object, ...]] = {
    str: ("soccer", "0", ""),
    int: (0, 1, 255),
    float: (0.0, 1.0),
    bool: (False, True),
    bytes: (b"", SKETCH),
    Event: (Event("soccer/italy", source="p1.1", seq=7),),
}
"""Of each type; of any tuple, the empty one."""


@pytest.mark.parametrize("kind", get_args(Word), ids=lambda kind: str(kind.__name__))
def test_words_that_are_empty_where_others_are_not_harm_nobody(kind: Any) -> None:
    """Each whole and within its type, from strangers, to a peer that knows some others; none may raise anything."""
    fields = [EXTREMES.get(type_, ((),)) for type_ in get_type_hints(kind).values()]
    for values in product(*fields):
        peer = Peer("me", PeerOptions(topic=TopicOptions(membership="semi-structured")), random.Random(8))
        peer.handle(Meet(("p1", "p2", "p3", "p4")), 0.0)
        peer.handle(Join("soccer", contacts=("p1",)), 0.0)
        frame = encode_word(kind(*values))
        peer.handle(Received("s", frame), 1.0)
        peer.handle(Received("s", encode_word(Sure(1, frame))), 1.0)
        peer.handle(Due(), 2.0)


def test_a_peer_that_hears_nonsense_and_forgeries_lives_on_within_its_bounds() -> None:
    """Damaged words, and whole ones that nobody has a right to, from many strangers."""
    rng = random.Random(8)
    terms = ScampOptions(view_max=10)
    peer = Peer("me", PeerOptions(topic=TopicOptions(scamp=terms), contacts_max=5), rng)
    peer.handle(Join("soccer", contacts=("p1",)), 0.0)
    now = 0.0
    for number in range(4_000):
        now += 0.01
        frame = bytearray(encode_word(rng.choice(WORDS)))
        if rng.random() < 0.5:
            frame[rng.randrange(len(frame))] = rng.choice(VALUES)
        elif rng.random() < 0.5:
            frame = bytearray(encode_word(Sure(number, bytes(frame))))
        peer.handle(Received(f"s{rng.randrange(500)}", bytes(frame)), now)
        peer.handle(Due(), now)
    community = peer.communities["soccer"]
    assert len(community.membership.view) <= 10
    assert "me" not in community.membership.view
    assert all(len(table.entries) <= 3 for table in community.supers)
    assert len(peer.contacts) <= 5
    assert peer.counters["bad_frames"] > 100
    assert peer.counters["unasked"] > 100
