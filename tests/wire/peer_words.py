"""Examples of all words between peers."""

from __future__ import annotations

from array import array

from reknit.model.event import Event
from reknit.wire.peers import (
    MINIMA,
    Ack,
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
    Pong,
    Remove,
    Replace,
    Request,
    Seek,
    Some,
    Subscribe,
    Sure,
    Withdraw,
    Word,
    encode_word,
)

SKETCH = array("f", [0.5] * MINIMA).tobytes()

WORDS: list[Word] = [
    Gossip("soccer", 3, ("soccer/italy",), Event("soccer/italy", b"goal", {"minute": 90}, source="p1.1", seq=7)),
    Request("p1", 4, ("soccer", "#"), 3),
    Answer(4, "soccer", ("p2", "p3")),
    Ping(5, "soccer"),
    Pong(5, "soccer", member=True),
    More(6, "soccer", 2),
    Some(6, "soccer", ("p4",)),
    Sure(7, encode_word(Remove("soccer"))),
    Ack(7),
    Subscribe("soccer", "p1", 4, 120.0, renewal=True),
    Forward("soccer", "p1", 90, 120.0),
    Kept("soccer", 120.0),
    Replace("soccer", "p2", 60.0),
    Remove("soccer"),
    Heartbeat("soccer", 9, SKETCH, (("#", "p9"),)),
    Exchange(10, "01", ((("p2", "1"),), (("p3", "00"),)), ("p4",), 1),
    Exchanged(10, "01", "0", "0", ((("p2", "1"),), ()), ("p4",), ("p5",), 1),
    Seek("p1", 11, "soccer", 8, 60.0, 32),
    Found(11, "soccer", ("p2",), 17),
    Copies("soccer", (("p1", 59.5),), 32),
    Withdraw("soccer", "p1"),
]
