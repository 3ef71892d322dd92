"""Where a client is at home while its session moves on a ring: always somewhere, and only there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from reknit.core.homes.options import HomeOptions
from reknit.core.io import Relocate
from reknit.core.sessions.options import SessionOptions
from reknit.trace.records import Kind
from tests.core.ring.circles import Ring


def _ring(count: int) -> Ring:
    """Client c is at b1, wants t, and all know it."""
    ring = Ring()
    ring.options = replace(ring.options, homes=HomeOptions(unique=True))
    for number in range(1, count + 1):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    ring.wants("b1", "c", "t")
    ring.run(15.0)
    return ring


def _home(ring: Ring, at: str) -> str:
    home = ring.broker(at).homes.elsewhere("c")
    return home.broker if home is not None else ""


def _moving(ring: Ring, until: Kind) -> None:
    ring.give("b1", Relocate("c", ring.broker("b2").ring.me))
    while not ring.count(until):
        ring.run(0.0005)


def test_who_comes_back_to_the_old_broker_at_once_does_not_begin_anew_there() -> None:
    ring = _ring(2)
    ring.broker("b2").placement.arriving.relay = "b2:1"
    _moving(ring, Kind.MOVED_OUT)
    home = ring.broker("b1").homes.elsewhere("c")
    assert home is not None
    assert (home.broker, home.address) == ("b2", "b2:1")
    ring.run(5.0)
    assert (_home(ring, "b1"), _home(ring, "b2")) == ("b2", "")


def test_when_the_old_broker_dies_for_good_before_it_has_said_so_the_session_is_the_new_ones() -> None:
    ring = _ring(3)
    _moving(ring, Kind.MOVED_IN)
    ring.lose("b1")
    assert _home(ring, "b3") == "b1"
    ring.run(ring.options.ring.lost_s + SessionOptions().lease_s + 3.0)
    assert not ring.count(Kind.MOVED_OUT)
    assert (_home(ring, "b3"), _home(ring, "b2")) == ("b2", "")
    assert not ring.broker("b2").placement.arriving.of


def test_an_old_broker_that_was_only_cut_off_has_its_session_back() -> None:
    """It was not told that the session has come, and its client is with it."""
    ring = _ring(3)
    _moving(ring, Kind.MOVED_IN)
    ring.network.cut("b1", "b2")
    ring.network.cut("b2", "b1")
    ring.run(ring.options.ring.lost_s + 2.0)
    ring.network.heal(("b1", "b2"), ("b2", "b1"))
    ring.run(30.0)
    assert ["c" in ring.broker(name)._clients for name in ("b1", "b2")] == [True, False]
    assert (_home(ring, "b1"), _home(ring, "b3")) == ("", "b1")


@pytest.mark.parametrize("until", ["session: offer", "session: rest"])
def test_a_session_that_may_be_taken_back_is_at_home_where_its_client_begins_anew(until: str) -> None:
    """The new broker hears from others that it has ended at the old one, and not yet that it is not to come at all."""
    ring = _ring(3)
    ring.give("b1", Relocate("c", ring.broker("b2").ring.me))
    while not any(record.detail == until for record in ring.records):
        ring.run(0.0005)
    ring.network.cut("b1", "b2")
    ring.network.cut("b2", "b1")
    ring.detach("b1", "c")
    ring.wants("b1", "c", "t")
    ring.run(2.0)
    ring.network.heal(("b1", "b2"), ("b2", "b1"))
    ring.run(30.0)
    assert ["c" in ring.broker(name)._clients for name in ("b1", "b2")] == [True, False]
    assert (_home(ring, "b1"), _home(ring, "b2"), _home(ring, "b3")) == ("", "b1", "b1")
