"""Push with positive digests: EPIDEMIC, section 4.1 and Figure 2."""

from __future__ import annotations

from reknit.trace.records import Kind
from reknit.wire.messages import Asker, Keeps, Repair, Wants
from tests.core.desk import event, pattern
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _keeps(table: RoundTable, *ranges: tuple[int, int], number: int = 7, hops: int = 0, source: str = "s.1") -> None:
    table.n.say(Keeps(table.asker(number=number), PA, [(source, list(ranges))], hops))


def _offers(table: RoundTable) -> list[Keeps]:
    return [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Keeps)]


def test_a_round_offers_the_cached_events_of_a_pattern_to_those_who_want_it() -> None:
    """A digest of all the cached events matching p, labelled with p, and routed similarly to events matching p."""
    table = RoundTable("push", n=(A,), m=(), gossip_s=1.0)
    table.publish(event("a"), event("a"), event("c"))
    table.run(1.0)
    (offer,) = _offers(table)
    assert (offer.signature, offer.kept) == (PA, [("b.1", [(1, 2)])])
    assert offer.asker.name == "b"


def test_the_whole_table_is_considered_not_only_what_clients_here_want() -> None:
    table = RoundTable("push", n=(A,), m=(A, B))
    table.events(table.n, numbered("a", 1, (PA, 1), (PB, 1)))
    table.run(3.0)
    assert {each.signature for each in _offers(table)} == {PA, PB}


def test_at_least_one_neighbour_is_told_however_small_the_chance() -> None:
    """Erratum 2."""
    table = RoundTable("push", forward=0.0)
    table.publish(event("a"))
    table.run(1.0)
    assert len(_offers(table)) == 1


def test_whoever_wants_the_pattern_asks_the_initiator_for_what_it_misses() -> None:
    table = RoundTable("push")
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)), numbered("a", 2, (PA, 2)))
    table.run(0.2)
    _keeps(table, (1, 4))
    ((to, wants),) = table.directs()
    assert isinstance(wants, Wants)
    assert to == "x"
    assert (wants.asker, wants.lost) == (Asker("b", "b:1", 7), [("s.1", [(3, 4)])])
    table.direct(Repair("x", 7, [0.0, 0.0], [numbered("a", 3, (PA, 3)), numbered("a", 4, (PA, 4))]))
    assert len(table.records(Kind.RECOVERED)) == 2


def test_whoever_does_not_want_it_only_passes_it_on() -> None:
    table = RoundTable("push")
    _keeps(table, (1, 4), hops=3)
    assert table.directs() == []
    assert table.gossip(table.m) == [Keeps(table.asker(), PA, [("s.1", [(1, 4)])], 4)]
    assert table.gossip(table.n) == []  # erratum 1: never back


def test_it_is_passed_on_with_some_chance_and_not_for_ever() -> None:
    table = RoundTable("push", forward=0.0)
    _keeps(table, (1, 4))
    assert table.gossip(table.m) == []
    table = RoundTable("push", hops_max=3)
    _keeps(table, (1, 4), hops=3)
    assert table.gossip(table.m) == []


def test_what_was_asked_for_is_not_asked_for_again_at_once() -> None:
    table = RoundTable("push", again_s=0.5)
    table.client("ann", A)
    table.events(table.n, numbered("a", 1, (PA, 1)))
    table.run(0.2)
    for number in (7, 8):
        _keeps(table, (1, 2), number=number)
    assert len(table.directs()) == 1
    table.run(0.5)
    _keeps(table, (1, 2), number=9)
    assert len(table.directs()) == 2


def test_our_own_events_are_not_missed() -> None:
    table = RoundTable("push")
    table.client("ann", A)
    _keeps(table, (1, 4), source="b.1")
    assert table.directs() == []


def test_the_initiator_sends_what_it_was_asked_for() -> None:
    table = RoundTable("push", n=(A,), m=())
    table.publish(event("a"), event("a"))
    table.run(1.0)
    number = _offers(table)[0].asker.round
    table.direct(Wants(table.asker(number=number), PA, 100.0, [("b.1", [(2, 9)])]))
    assert table.repairs() == [("x", 2)]


def test_whoever_was_told_of_one_pattern_gets_nothing_of_another() -> None:
    """Nor of any under a round in which we have asked, or which we have heard of."""
    table = RoundTable("push", n=(A,), m=(B,))
    table.client("ann", A)
    table.publish(event("a"), event("b"))
    table.run(1.5)
    rounds = {each.signature: each.asker.round for each in _offers(table)}
    assert rounds.keys() == {PA, PB}
    table.direct(Wants(table.asker(number=rounds[PA]), PB, 100.0, [("b.1", [(1, 9)])]))
    _keeps(table, (1, 4), number=99)
    table.direct(Wants(table.asker("y", number=99), PA, 100.0, [("b.1", [(1, 9)])]))
    assert table.repairs() == []
    assert table.figures.unentitled == 2
    _keeps(table, (1, 4), number=rounds[PA])  # somebody names a round of ours as his own
    table.direct(Wants(table.asker("y", number=rounds[PA]), PA, 100.0, [("b.1", [(1, 9)])]))
    assert table.repairs() == [("y", 1)]


def test_whoever_was_not_told_gets_nothing() -> None:
    table = RoundTable("push", n=(A,), m=())
    table.publish(event("a"))
    table.run(1.0)
    number = _offers(table)[0].asker.round
    table.direct(Wants(table.asker(number=number + 1), PA, 100.0, [("b.1", [(1, 1)])]))
    assert (table.repairs(), table.figures.unasked) == ([], 1)
    table.direct(Wants(table.asker(number=number), pattern("c").signature(), 100.0, [("b.1", [(1, 1)])]))
    assert (table.repairs(), table.figures.unentitled) == ([], 1)
    for _ in range(2):
        table.direct(Wants(table.asker("y", number), PA, 100.0, [("b.1", [(1, 1)])]))
    assert (table.repairs(), table.figures.replayed) == ([("y", 1)], 1)


def test_old_events_are_not_offered() -> None:
    table = RoundTable("push", digest_s_max=2.5)
    table.publish(event("a"))
    table.run(2.6)
    before = len(_offers(table))
    table.run(10.0)
    assert len(_offers(table)) == before
