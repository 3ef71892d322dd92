"""The last of a burst: a source that is silent says so, and is heard."""

from __future__ import annotations

from reknit.core.io import Drain
from reknit.trace.records import Kind
from reknit.wire.messages import Leave, Silent, Sub, Unsub, Welcome
from tests.core.desk import Desk, event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def test_the_last_event_of_a_burst_is_missed_when_its_source_says_so() -> None:
    """Erratum 11."""
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.n.say(Silent("s.1", [(PA, 3)], 0))
    assert [gap.detail for gap in table.records(Kind.GAP)] == ["s.1 2-3"]
    table.run(0.1)
    assert Silent("s.1", [(PA, 3)], 1) in table.gossip(table.m)  # it goes on to others who want the pattern
    assert not any(isinstance(each, Silent) for each in table.gossip(table.n))


def test_a_source_that_falls_silent_says_its_last_numbers_to_each_who_wants_them() -> None:
    table = RoundTable("subscriber-pull", n=(A, B), m=(B,), heartbeat_s=0.5, heartbeats=2)
    table.publish(event("a"), event("b"), event("b"))
    table.run(0.4)
    assert table.gossip(table.n) == []
    table.run(0.3)
    assert table.gossip(table.n) == [Silent("b.1", [(PA, 1), (PB, 2)], 0)]
    assert table.gossip(table.m) == [Silent("b.1", [(PB, 2)], 0)]
    table.run(30.0)
    assert len(table.gossip(table.m)) == 2
    assert table.recovery.at_rest


def test_words_of_many_sources_go_on_as_one_message_to_each_who_wants_them() -> None:
    table = RoundTable("subscriber-pull", n=(), m=(A,), heartbeats=1)
    for number in range(1, 11):
        table.n.say(Silent(f"s{number}.1", [(PA, 3)], 0))
        table.run(0.009)
    assert table.gossip(table.m) == []
    assert not table.recovery.at_rest
    table.run(0.1)
    said = [each.source for each in table.gossip(table.m) if isinstance(each, Silent)]
    assert said == [f"s{number}.1" for number in range(1, 11)]
    assert table.figures.heartbeats == 1
    assert table.recovery.at_rest


def test_a_word_is_settled_when_it_has_gone_on_and_not_while_it_waits() -> None:
    """The broker may die meanwhile: then whoever has said it says it again."""
    table = RoundTable("subscriber-pull", n=(), m=(A,), heartbeats=1)
    table.n.say(Silent("s.1", [(PA, 3)], 0))
    table.run(0.05)
    assert all(ack.settled < table.n.seq for ack in table.n.acks())
    table.run(0.1)
    table.m.ack()
    table.run(1.0)
    assert table.n.acks()[-1].settled == table.n.seq


def test_who_moves_behind_the_one_that_has_told_it_while_it_waits_hears_it_by_that_one() -> None:
    """Else a broker could lose the last event for good, with its link replaced in just this moment."""
    table = RoundTable("subscriber-pull", n=(), m=(A, B), heartbeats=1)
    table.n.say(Silent("s.1", [(PA, 3), (PB, 2)], 0))
    table.m.say(Unsub([A]))
    table.n.say(Sub([A]))
    table.run(0.2)
    assert table.gossip(table.m) == [Silent("s.1", [(PB, 2)], 1)]
    assert table.gossip(table.n) == [Silent("s.1", [(PA, 3)], 1)]


def test_a_word_that_waits_here_is_heard_by_whoever_comes_here_meanwhile() -> None:
    """Its session has left the broker that the word is for."""
    table = RoundTable("subscriber-pull", n=(), m=(A,), heartbeats=1)
    table.n.say(Silent("s.1", [(PA, 2)], 0))
    table.client("ann", A)
    assert len(table.recovery.lost) == 0
    table.run(0.2)
    assert list(table.recovery.lost.entries) == [("s.1", PA, 1), ("s.1", PA, 2)]
    assert table.gossip(table.m) == [Silent("s.1", [(PA, 2)], 1)]


def test_what_nobody_further_on_wants_to_hear_is_not_kept() -> None:
    table = RoundTable("subscriber-pull", n=(A,), m=())
    table.client("ann", A)
    table.events(table.n, numbered("a", 3, (PA, 3)))
    table.n.say(Silent("s.1", [(PA, 3)], 0))
    assert table.recovery.heartbeat.deadline() is None


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
