"""The table against a plain list of its entries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reknit.core.routing.table import Hop, Table, broker, client
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from tests.core.routing.strategies import CLIENTS, NEIGHBOURS, events, patterns

HOPS: list[Hop] = [*map(broker, NEIGHBOURS), *map(client, CLIENTS)]
hops = st.sampled_from(HOPS)


class AgainstAScan(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.entries: list[tuple[Hop, Pattern]] = []

    @rule(hop=hops, pattern=patterns)
    def add(self, hop: Hop, pattern: Pattern) -> None:
        new = (hop, pattern) not in self.entries
        assert self.table.add(hop, pattern) == new
        if new:
            self.entries.append((hop, pattern))

    @rule(hop=hops, pattern=patterns)
    def remove(self, hop: Hop, pattern: Pattern) -> None:
        there = (hop, pattern) in self.entries
        assert self.table.remove(hop, pattern) == there
        if there:
            self.entries.remove((hop, pattern))

    @rule(event=events)
    def route(self, event: Event) -> None:
        route = self.table.route(event)
        wanted = [(hop, pattern) for hop, pattern in self.entries if pattern.matches(event)]
        assert sorted(route.neighbours) == sorted({name for (kind, name), _ in wanted if kind == "broker"})
        found = sorted((name, sorted(each)) for name, each in route.matches)
        names = sorted({name for (kind, name), _ in wanted if kind == "client"})
        assert found == [(name, sorted(each for hop, each in wanted if hop == client(name))) for name in names]

    @rule(hop=hops, pattern=patterns)
    def ask(self, hop: Hop, pattern: Pattern) -> None:
        others = [each for each, wanted in self.entries if wanted == pattern and each != hop]
        assert self.table.wanted_apart_from(hop, pattern) == bool(others)
        assert self.table.has(hop, pattern) == ((hop, pattern) in self.entries)

    @invariant()
    def the_same_entries(self) -> None:
        assert len(self.table) == len(self.entries)
        assert sorted(self.table.hops()) == sorted({hop for hop, _ in self.entries})
        assert sorted(self.table.patterns()) == sorted({pattern for _, pattern in self.entries})
        for hop in HOPS:
            assert self.table.count(hop) == len(self.table.of(hop))
            assert sorted(self.table.of(hop)) == sorted(pattern for each, pattern in self.entries if each == hop)


TestAgainstAScan = AgainstAScan.TestCase


@given(st.lists(st.tuples(hops, patterns), max_size=12), events)
def test_a_route_has_each_neighbour_and_each_client_once(entries: list[tuple[Hop, Pattern]], event: Event) -> None:
    table = Table()
    for hop, pattern in entries:
        table.add(hop, pattern)
    route = table.route(event)
    assert len(set(route.neighbours)) == len(route.neighbours)
    assert len({name for name, _ in route.matches}) == len(route.matches)


def test_a_remembered_route_follows_the_table() -> None:
    """Where topics alone decide, routes are remembered; not beyond the next change."""
    table, event = Table(), Event("a/b")
    assert table.route(event).neighbours == ()
    table.add(broker("n"), Pattern.parse("a/#"))
    assert table.route(event).neighbours == ("n",)
    table.add(client("ann"), Pattern.parse("a/b", "x > 1"))
    assert table.route(Event("a/b", attributes={"x": 2})).matches == (("ann", (Pattern.parse("a/b", "x > 1"),)),)
    assert table.route(event).matches == ()
    table.remove(broker("n"), Pattern.parse("a/#"))
    assert table.route(event).neighbours == ()
