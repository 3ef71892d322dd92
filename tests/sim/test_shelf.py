"""What the next life of a simulated broker finds on its shelf."""

from __future__ import annotations

import math
import random

from reknit.core.broker import Broker
from reknit.core.io import (
    Attach,
    Drop,
    DropAside,
    DropLine,
    DropMove,
    Due,
    Keep,
    KeepAside,
    KeepChange,
    KeepLine,
    KeepMove,
    Subscribe,
)
from reknit.core.options import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.shelf import Shelf
from reknit.wire.messages import Line


def test_events_are_there_in_the_order_of_their_numbers_until_they_are_dropped() -> None:
    shelf = Shelf()
    first, second = Event("a", source="b.1", seq=1), Event("a", source="b.1", seq=2)
    shelf.perform(Keep([second], False))
    shelf.perform(Keep([first], True))
    assert shelf.recall().kept == [(first, True), (second, False)]
    shelf.perform(Drop([first.id]))
    assert shelf.recall().kept == [(second, False)]


def test_the_last_word_of_a_line_and_of_a_change_counts() -> None:
    shelf = Shelf()
    line = Line("kind", "name", b"x", 1, "b.1")
    shelf.perform(KeepLine(line))
    shelf.perform(KeepChange("c1", {"id": "c1"}))
    assert (shelf.recall().lines, shelf.recall().changes) == ([line], [{"id": "c1"}])
    shelf.perform(DropLine("kind", "name"))
    shelf.perform(KeepChange("c1", None))
    assert (shelf.recall().lines, shelf.recall().changes) == ([], [])


def test_moves_and_what_was_put_aside_are_there_in_the_order_of_numbers() -> None:
    shelf, some = Shelf(), (Pattern.parse("a"),)
    asides = [KeepAside("zoe", 1, Event("a"), some), KeepAside("ann", 2, Event("a"), some)]
    move = KeepMove("ann", "n", 1, came=True)
    for each in (*reversed(asides), move):
        shelf.perform(each)
    assert (shelf.recall().asides, shelf.recall().moves) == (asides, [move])
    shelf.perform(DropAside("zoe", (1,)))
    shelf.perform(DropMove("ann"))
    assert (shelf.recall().asides, shelf.recall().moves) == (asides[1:], [])


def test_a_broker_that_dies_leaves_its_sessions_and_what_they_want() -> None:
    broker, shelf = Broker("b", 1, BrokerOptions(durable=True), random.Random(1), {}), Shelf()
    broker.handle(Due(), 0.0)
    broker.handle(Attach("ann"), 0.0)
    broker.handle(Subscribe("ann", (Pattern.parse("a/+"),)), 0.0)
    broker.handle(Due(), 2.0)
    assert shelf.recall().written == math.inf
    shelf.leave(broker)
    recall = shelf.recall()
    assert recall.clients == recall.sure == {"ann": (Pattern.parse("a/+"),)}
    assert recall.written == 2.0
