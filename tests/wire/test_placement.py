"""What brokers say to place clients, and what is refused of it before anybody acts on it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from reknit.model.event import Event
from reknit.wire.codec import BadFrame, decode, encode
from reknit.wire.messages import Data, Opened
from reknit.wire.placement import CLUSTER_CHARS_MAX, INTEREST_TOPICS_MAX, LASTS_MAX, Interest, Lasts, Passed
from reknit.wire.planes import Report

SPOT = (7, "b1", "host:1")
EVENT = Event("a", source="b1.1", seq=3)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Interest("x" * (CLUSTER_CHARS_MAX + 1), SPOT, [], 0, 1.0), "a cluster's name of 257 characters"),
        (Interest("", (-1, "b1", ""), [], 0, 1.0), "ring id"),
        (Interest("", SPOT, [], 0, -1.0), "an interest counts for a while, not for -1.0 s"),
        (Interest("", SPOT, [], 0, math.inf), "an interest counts for a while, not for inf s"),
        (Interest("", SPOT, ["a"] * (INTEREST_TOPICS_MAX + 1), 0, 1.0), "an interest in 4097 topics"),
        (Interest("", SPOT, ["a/+"], 0, 1.0), "a/+"),
        (Interest("", SPOT, [], -1, 1.0), "it counts from 0 on, not -1"),
        (Lasts("c", 1, [("s", "a", 1)] * (LASTS_MAX + 1)), "1025 lines at once"),
        (Lasts("c" * 65_536, 1, []), "a client's name of 65536 characters"),
        (Lasts("c", 1, [("s" * 257, "a", 1)]), "a name of 257 characters"),
        (Lasts("c", 1, [("s", "#", 1)]), "#"),
        (Lasts("c", 1, [("s", "a", -2)]), "it counts from 0 on, not -2"),
        (Passed("c", 1, [EVENT], []), "1 events, and 0 numbers of those before them"),
        (Passed("c", 1, [EVENT], [3]), "before number 3 comes none with number 3"),
        (Passed("c", 1, [Event("a")], [0]), "an event without an id"),
        (Opened("c", 1, "", False, "d" * 257), "257"),
        (Opened("c", 1, "", False, "", "r" * 257), "257"),
        (Report(1, SPOT, ["a/#"], [], 0), "a/#"),
        (Report(1, SPOT, [], [("a", -1)], 0), "a report counts from 0 on, not -1"),
    ],
)
def test_what_makes_no_sense_is_no_frame(message: Any, reason: str) -> None:
    with pytest.raises(BadFrame, match=reason.replace("+", r"\+")):
        decode(encode(Data(1, 1, 0, 0, [message])))
