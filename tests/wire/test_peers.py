"""Words between peers: what is within bounds survives, what is not raises ``BadFrame``."""

from __future__ import annotations

from typing import get_args

import pytest

from reknit.model.event import Event
from reknit.model.topic import BadTopic
from reknit.wire.codec import BadFrame
from reknit.wire.peers import (
    PEERS_MAX,
    Answer,
    Copies,
    Exchange,
    Exchanged,
    Forward,
    Found,
    Gossip,
    Heartbeat,
    Kept,
    More,
    Ping,
    Replace,
    Request,
    Seek,
    Subscribe,
    Withdraw,
    Word,
    check_community,
    decode_word,
    encode_word,
)
from tests.wire.peer_words import WORDS

EVENT = Event("a", source="p.1", seq=1)


def test_there_is_an_example_of_each() -> None:
    assert {type(word) for word in WORDS} == set(get_args(Word))


@pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
def test_a_word_is_read_as_it_was_written(word: Word) -> None:
    assert decode_word(encode_word(word)) == word


BAD: list[Word] = [
    Exchange(1, "012", (), (), 0),
    Exchange(1, "0" * 33, (), (), 0),
    Exchange(1, "0", ((("p", "x"),),), (), 0),
    Exchange(1, "0", ((("p", "1"),) * 9,), (), 0),
    Exchange(1, "0", ((),) * 33, (), 0),
    Exchange(1, "0", ((("", "1"),),), (), 0),
    Exchange(1, "", (), ("p",) * (PEERS_MAX + 1), 0),
    Exchanged(1, "", "", "2", (), (), (), 0),
    Exchanged(1, "", "", "", (), (), ("p" * 300,), 0),
    Exchanged(1, "", "", "", (), (), (), 300),
    Seek("p", 1, "a/#", 1, 0.0, 1),
    Seek("p", 1, "a", 65, 0.0, 1),
    Seek("p", 1, "a", 1, -1.0, 1),
    Seek("p", 1, "a", 1, 0.0, 256),
    Found(1, "a", (), -1),
    Found(1, "a", ("p",) * (PEERS_MAX + 1), 1),
    Copies("a", (("p", 0.0),), 1),
    Copies("a", (("p", 1.0),) * 65, 1),
    Withdraw("a", ""),
    Gossip("a/#", 1, (), EVENT),
    Gossip("", 1, (), EVENT),
    Gossip("a", 256, (), EVENT),
    Gossip("a", -1, (), EVENT),
    Gossip("a", 1, ("a",) * 40, EVENT),
    Gossip("a", 1, (), Event("a")),
    Gossip("a", 1, (), Event("a/+", source="p.1", seq=1)),
    Request("", 1, ("a",), 1),
    Request("p", 1, ("a",) * 40, 1),
    Request("p", 1, ("a",), 999),
    Answer(1, "a", ("p",) * (PEERS_MAX + 1)),
    Answer(1, "a", ("p" * 300,)),
    More(1, "a", 0),
    More(1, "a", PEERS_MAX + 1),
    Subscribe("a", "p", 0, 0.0, renewal=False),
    Subscribe("a", "p", 0, float("nan"), renewal=False),
    Subscribe("a", "p", 0, float("inf"), renewal=False),
    Forward("a", "", 1, 1.0),
    Forward("+", "p", 1, 1.0),
    Kept("a", -1.0),
    Replace("a", "p", 1e12),
    Ping(1, "x" * 2000),
    Heartbeat("a", -1, b"", ()),
    Heartbeat("a", 1, b"abc", ()),
    Heartbeat("a", 1, b"", (("a", ""),)),
    Heartbeat("a", 1, b"", (("", "p"),)),
]


@pytest.mark.parametrize("word", BAD, ids=lambda word: repr(word)[:40])
def test_what_is_beyond_a_bound_is_no_word(word: Word) -> None:
    with pytest.raises(BadFrame):
        decode_word(encode_word(word))


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x02" + encode_word(Ping(1, "a"))[1:]])
def test_another_version_is_none_of_ours(data: bytes) -> None:
    with pytest.raises(BadFrame, match="version"):
        decode_word(data)


def test_the_root_is_a_community_and_a_filter_is_not() -> None:
    check_community("#")
    with pytest.raises(BadTopic):
        check_community("a/#")
