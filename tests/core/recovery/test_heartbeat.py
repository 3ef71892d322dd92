"""The last of a burst: a source that is silent says so, and is heard."""

from __future__ import annotations

from reknit.core.io import Drain
from reknit.trace.records import Kind
from reknit.wire.messages import Leave, Silent, Welcome
from tests.core.desk import Desk, event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def test_the_last_event_of_a_burst_is_missed_when_its_source_says_so() -> None:
    """Erratum 11."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 3)], 0))
    assert [gap.detail for gap in table.records(Kind.GAP)] == ["s.1 2-3"]
    assert Silent("s.1", [(PA, 3)], 1) in table.gossip(table.m)  # it goes on to others who want the pattern
    assert not any(isinstance(each, Silent) for each in table.gossip(table.n))


def test_a_source_that_falls_silent_says_its_last_numbers_to_each_who_wants_them() -> None:
    table = RoundTable("subscriber-pull", n=(A, B), m=(B,), heartbeat_s=0.5, heartbeats=2)
    table.publish(event("a"), event("b"), event("b"))
    table.run(0.4)
    assert table.gossip(table.n) == []
    table.run(0.2)
    assert table.gossip(table.n) == [Silent("b.1", [(PA, 1), (PB, 2)], 0)]
    assert table.gossip(table.m) == [Silent("b.1", [(PB, 2)], 0)]
    table.run(30.0)
    assert len(table.gossip(table.m)) == 2
    assert table.recovery.at_rest


def test_our_own_silence_does_not_come_back() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.n.say(Silent("b.1", [(PA, 9)], 0))
    assert table.recovery.at_rest
    assert table.gossip(table.m) == []


def test_who_leaves_says_its_last_numbers_and_goes_when_they_are_settled() -> None:
    """Else nobody could ever miss the last event before a drain: the broker is gone before it is silent."""
    desk = Desk("n", recovery={"algorithm": "subscriber-pull", "heartbeat_s": 0.5})
    n = desk.linked("n", 1, A)
    desk.publish(event("a"))
    n.ack()
    n.forget()
    desk.give(Drain(7))
    n.ack()
    n.say(Welcome("", "n:1883"))
    assert n.heard()[-1] == Silent("b.1", [(PA, 1)], 0)
    n.ack()
    assert n.heard()[-1] == Leave()
    assert sum(isinstance(each, Silent) for each in n.heard()) == 1
