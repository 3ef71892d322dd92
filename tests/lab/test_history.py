"""Events that travel afterwards go exactly where the brokers would have sent them."""

from __future__ import annotations

import pytest

from reknit.lab.history import History, travel, windows
from reknit.lab.replacement import STRATEGIES, Run, chance, run_world
from reknit.lab.worlds import FIRST_S, bits_of, draw_publications, draw_world, pattern_of
from reknit.trace.records import Kind, Record


def _full(run: Run) -> dict[tuple[str, int], tuple[list[tuple[str, str]], list[str]]]:
    """By event, in the full simulation: the hops that it made, and to which brokers' clients it was delivered."""
    found: dict[tuple[str, int], tuple[list[tuple[str, str]], list[str]]] = {}
    for record in run.records:
        if record.event is None:
            continue
        hops, delivered = found.setdefault(record.event.id, ([], []))
        if record.kind is Kind.FORWARDED:
            hops.append((record.node, record.peer))
        elif record.kind is Kind.DELIVERED:
            delivered.append(record.node)
    return found


@pytest.mark.parametrize("label", STRATEGIES)
def test_it_is_the_full_simulation_hop_by_hop(label: str) -> None:
    world = draw_world("random", 24, 0.4, 10, chance(label))
    members = sorted({name for edge in world.edges for name in edge})
    events = list(draw_publications(members, 12.0, FIRST_S - 0.1, FIRST_S + 2.0, chance(label, "events")))
    run = run_world(world, label, "full", events=events)
    full, numbers = _full(run), dict.fromkeys(members, 0)
    in_vain = 0
    for at, broker, bits in events:
        numbers[broker] += 1
        journey = run.travel(at, broker, bits)
        hops, delivered = full[f"{broker}.1", numbers[broker]]
        assert sorted(journey.hops) == sorted(hops)
        assert sorted(journey.delivered) == sorted(delivered)
        in_vain += journey.misrouted
    assert in_vain > 0, "nothing was misrouted, so nothing was shown"
    assert len(events) > 400


P = pattern_of(0)
E = bits_of([0])


def _history() -> History:
    """a - b - c, and c wants; then b - c goes, and a - c comes."""
    records = [
        Record(0.0, one, Kind.LINK_ADDED, peer=other) for edge in ("ab", "bc") for one, other in (edge, edge[::-1])
    ]
    records += [Record(0.0, "a", Kind.ROUTE_ADDED, peer="b", pattern=P)]
    records += [Record(0.0, "b", Kind.ROUTE_ADDED, peer="c", pattern=P)]
    records += [Record(5.0, "b", Kind.LINK_REMOVED, peer="c"), Record(5.0, "c", Kind.LINK_REMOVED, peer="b")]
    records += [Record(6.0, "a", Kind.LINK_ADDED, peer="c"), Record(6.0, "c", Kind.LINK_ADDED, peer="a")]
    records += [Record(6.0, "a", Kind.ROUTE_ADDED, peer="c", pattern=P)]
    records += [Record(7.0, "a", Kind.ROUTE_REMOVED, peer="b", pattern=P)]
    return History(records, {P: E}, {"c": E})


def test_an_event_follows_the_table_of_the_time_at_which_it_is_there() -> None:
    history, wants = _history(), {"c": E}
    before = travel(history, wants, 1.0, "a", E, 0.1)
    assert (before.hops, before.misrouted, before.delivered) == ([("a", "b"), ("b", "c")], 0, ["c"])
    after = travel(history, wants, 8.0, "a", E, 0.1)
    assert (after.hops, after.misrouted, after.delivered) == ([("a", "c")], 0, ["c"])


def test_what_goes_where_nobody_wants_it_is_misrouted_and_obsolete_only_if_the_next_links_do_not_want_it_either() -> (
    None
):
    history, wants = _history(), {"c": E}
    gap = travel(history, wants, 5.5, "a", E, 0.1)
    assert (gap.hops, gap.misrouted, gap.obsolete, gap.delivered) == ([("a", "b")], 1, 1, [])
    stale = travel(history, wants, 6.5, "a", E, 0.1)
    assert (stale.hops, stale.misrouted, stale.delivered) == ([("a", "b"), ("a", "c")], 1, ["c"])


def test_an_event_on_a_link_that_vanishes_is_lost() -> None:
    lost = travel(_history(), {"c": E}, 4.95, "b", E, 0.1)
    assert (lost.hops, lost.misrouted, lost.delivered) == ([("b", "c")], 0, [])


def test_the_ideal_is_that_of_the_links_of_the_time() -> None:
    history = _history()
    assert history.ideal(1.0)["a", "b"] == E
    assert history.ideal(5.5)["a", "b"] == 0
    assert history.ideal(6.5) == {("a", "b"): 0, ("a", "c"): E, ("b", "a"): E, ("c", "a"): 0}


def test_windows_are_times_that_lie_close() -> None:
    assert windows([1.0, 3.2, 1.1, 3.0, 1.15], 0.25) == [(1.0, 1.15), (3.0, 3.2)]
    assert windows([], 0.2) == []
