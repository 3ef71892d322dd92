"""Changes that follow a swap while the link that it has replaced is not empty, and brokers that die meanwhile.

The two leaves that want all are out of reach, so what went over the old link is settled nowhere. A second change that
concerns an end of it waits, and is made when the leaves are back; one or two brokers die before.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from reknit.core.links.options import LinkOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from tests.sim.heard import Stage

TREE = "w-m m-n n-b b-g g-z g-y z-q b-v"
FIRST = ("n", "b", "g")
AWAY = (("m", "w"), ("b", "v"))
MORTAL = "mnbgz"
DEATHS = [*MORTAL, *map("".join, combinations(MORTAL, 2))]
ROUTINGS = ("subscription-forwarding", "global-table")
NOW = ("g z q", "q z g", "y g z", "z g y")
LATER = ("b g n", "b g y", "b g z", "g n m", "m n g", "n g b", "n g y", "n g z", "y g b", "y g n", "z g b", "z g n")


class Chain(Stage):
    """What a broker of ``TREE`` publishes is on its way to the two that are away, when the first swap is done."""

    def __init__(self, routing: str) -> None:
        self.names = sorted({name for name in TREE if name.isalpha()})
        wants = {name: [Pattern.parse("all/#")] for name in self.names}
        super().__init__(TREE, wants, links=LinkOptions(), routing=routing)
        for ends in AWAY:
            self.network.cut(*ends)
        for name in (name for name in self.names if name not in "wv"):
            self.publish(name, f"at {name}", Event(f"all/{name}"))
        self.wait(0.2)
        self.first = self.swap(*FIRST)
        self.wait(0.5)
        assert self.replies[self.first] == ""

    def die(self, names: str) -> None:
        for ends in AWAY:
            self.network.break_connection(*ends)
        for name in names:
            self.crash(name)
        self.wait(0.3)
        for name in names:
            self.start(name)
        self.network.heal()
        self.rest(30.0)

    def violations(self, routing: str) -> list[str]:
        found = [*check_delivery(self.records), *check_order(self.records), *check_tree(self.records)]
        return [str(each) for each in [*found, *check_tables(self.records, routing, covering=False)]]


@pytest.mark.parametrize("swap", [*NOW, *LATER])
def test_a_swap_after_a_swap_loses_nothing_whoever_dies(swap: str) -> None:
    for number, dead in enumerate(DEATHS):
        routing = ROUTINGS[number % 2]
        chain = Chain(routing)
        request = chain.swap(*swap.split())
        chain.wait(1.0)
        assert (request in chain.replies) == (swap in NOW)
        chain.die(dead)
        assert chain.violations(routing) == [], dead
        assert swap[0] in dead or chain.replies[request] == "", dead


@pytest.mark.parametrize("path", ["n|z g", "n m|g", "n m|b g", "b|m n g", "g z|n", "g z|b"])
def test_nor_does_one_link_for_another(path: str) -> None:
    head, tail = path.split("|")
    for dead in DEATHS[::2]:
        chain = Chain(ROUTINGS[0])
        request = chain.planned("path", head, tail)
        chain.wait(1.0)
        assert request not in chain.replies
        chain.die(dead)
        assert chain.violations(ROUTINGS[0]) == [], dead
        assert path[0] in dead or chain.replies[request] == "", dead


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_link_slides_along_a_row_swap_by_swap_at_the_pace_at_which_old_links_empty(routing: str) -> None:
    """Each is asked for as soon as the one before is done; the mover has to wait, and tries again by itself."""
    stage = Stage("a-b b-c c-d d-e a-x", {"e": [Pattern.parse("all/#")]}, links=LinkOptions(), routing=routing)
    requests = []
    for middle, goal in ("bc", "cd", "de"):
        for number in range(20):
            stage.publish("x", "at x", Event(f"all/{number}"))
        requests.append(stage.swap("a", middle, goal))
        while requests[-1] not in stage.replies:
            stage.wait(0.01)
    assert [stage.replies[each] for each in requests] == ["", "", ""]
    assert stage.kernel.now < 10.0
    stage.rest()
    assert ("a", "e") in stage.edges()
    assert [*check_delivery(stage.records), *check_order(stage.records)] == []
