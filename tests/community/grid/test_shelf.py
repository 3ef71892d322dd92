"""Members that are kept for all: until their leases end, within bounds."""

from __future__ import annotations

from collections import Counter
from random import Random

from reknit.community.grid.shelf import Shelf
from reknit.wire.peers import ENTRIES_MAX


def test_entries_end_and_the_longer_lease_counts() -> None:
    shelf = Shelf(10, 10)
    shelf.put("t", "p", 5.0)
    shelf.put("t", "p", 3.0)
    shelf.put("t", "q", 2.0)
    shelf.expire(2.0)
    assert shelf.entries("t", 2.0) == [(("p", 3.0),)]
    shelf.expire(5.0)
    assert shelf.topics() == []


def test_bounds() -> None:
    shelf = Shelf(2, 3)
    assert [shelf.put("t", f"p{number}", 9.0) for number in range(5)] == [True, True, True, False, False]
    assert shelf.put("t", "p0", 10.0)
    assert [shelf.put(topic, "p", 9.0) for topic in ("u", "v")] == [True, False]
    assert shelf.count("t") == 3


def test_who_leaves_is_gone_and_so_is_what_is_given_away() -> None:
    shelf = Shelf(9, 9)
    shelf.put("t", "p", 9.0)
    assert shelf.remove("t", "p")
    assert not shelf.remove("t", "p")
    shelf.put("t", "p", 9.0)
    shelf.take("t")
    assert shelf.topics() == []


def test_a_draw_is_even_in_its_order_too_and_never_has_who_asks() -> None:
    shelf = Shelf(9, 99)
    for number in range(6):
        shelf.put("t", f"p{number}", 9.0)
    rng = Random(1)
    first = Counter(shelf.draw("t", 64, "p0", rng)[0] for _ in range(500))
    assert set(first) == {"p1", "p2", "p3", "p4", "p5"}
    assert min(first.values()) > 60
    assert len(set(shelf.draw("t", 3, "x", rng))) == 3


def test_entries_come_in_parts_that_fit() -> None:
    shelf = Shelf(9, 999)
    for number in range(150):
        shelf.put("t", f"p{number}", 9.0)
    assert [len(part) for part in shelf.entries("t", 0.0)] == [ENTRIES_MAX, ENTRIES_MAX, 150 - 2 * ENTRIES_MAX]
