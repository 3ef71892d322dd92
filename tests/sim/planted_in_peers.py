"""Bugs to plant into peers, one at a time: do the checkers see them?

Each entry breaks the protocol in one place, as a tired programmer might. None is shipped.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from reknit.community import community as community_module
from reknit.community.absent import Absent
from reknit.community.asking import Asking
from reknit.community.community import Community
from reknit.community.grid.shelf import Shelf
from reknit.community.memberships.scamp import Scamp
from reknit.community.peer import Peer
from reknit.community.search import Search
from reknit.community.super_table import SuperTable
from reknit.community.view import View
from reknit.trace.records import Kind
from reknit.wire.peers import Answer, Gossip, Request

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]
PLANTED: dict[str, tuple[Plant, str, int]] = {}
"""By name: the bug, the checker that has to see it, and the seed at which to begin, so that the test is quick."""


def plant(checker: str, near: int) -> Callable[[Plant], Plant]:
    def mark(function: Plant) -> Plant:
        PLANTED[function.__name__.replace("_", "-")] = (function, checker, near)
        return function

    return mark


@plant("parasites", 42)
def take_events_of_any_community(patch: Patch) -> None:
    original = Peer._take_gossip

    def take(self: Peer, sender: str, gossip: Gossip, vouched: bool = False) -> None:
        here = next(iter(self.communities), None)
        if gossip.community not in self.communities and here is not None:
            self._take(self.communities[here], gossip.event, gossip.hops, gossip.way, False, vouched)
        else:
            original(self, sender, gossip, vouched)

    patch.setattr(Peer, "_take_gossip", take)


@plant("parasites", 3)
def answer_for_communities_of_others(patch: Patch) -> None:
    def take(self: Asking, sender: str, request: Request) -> None:
        if request.origin != self._turn.me:
            self._turn.send(request.origin, Answer(request.attempt, request.topics[0], (self._turn.me,)))

    patch.setattr(Asking, "take_request", take)


@plant("views", 3)
def take_who_is_there_already_for_new(patch: Patch) -> None:
    original = View.add

    def add(self: View, peer: str, until: float = inf) -> bool:
        return original(self, peer, until) or peer in self

    patch.setattr(View, "add", add)


@plant("view sizes", 18)
def never_let_a_place_run_out(patch: Patch) -> None:
    original = View.add
    patch.setattr(View, "add", lambda self, peer, until=inf: original(self, peer))


@plant("view sizes", 18)
def renew_with_a_copy_for_oneself_only(patch: Patch) -> None:
    patch.setattr(Scamp, "_copies", lambda self, renewal, others: 1)


@plant("reception", 3)
def never_rise(patch: Patch) -> None:
    patch.setattr(Community, "_rise", lambda self, table, event, hops, way: None)


@plant("reception", 3)
def gossip_to_one_only(patch: Patch) -> None:
    patch.setattr(community_module, "log", lambda population: -20.0)


@plant("reception", 3)
def forget_to_pass_on_what_came_from_below(patch: Patch) -> None:
    original = Community.disseminate

    def disseminate(self: Community, event: Any, hops: int, way: tuple[str, ...], *rest: Any) -> None:
        if not way:
            original(self, event, hops, way, *rest)

    patch.setattr(Community, "disseminate", disseminate)


@plant("views", 3)
def never_mind_the_bound_of_the_table_above(patch: Patch) -> None:
    def take(self: SuperTable, topic: str, address: str) -> None:
        if address not in self.entries:
            self.entries[address] = topic
            self._turn.saw_table(Kind.ROUTE_ADDED, topic, address, self._detail)

    patch.setattr(SuperTable, "_take", take)


@plant("reception", 5)
def wait_for_ever(patch: Patch) -> None:
    """Whatever comes is delivered, and nothing is passed on by who has not published it."""
    original = Community.disseminate

    def disseminate(self: Community, event: Any, hops: int, *rest: Any) -> None:
        if not hops:
            original(self, event, hops, *rest)

    patch.setattr(Community, "disseminate", disseminate)


@plant("view sizes", 10)
def keep_only_a_few_for_all(patch: Patch) -> None:
    original = Shelf.put
    patch.setattr(
        Shelf, "put", lambda self, topic, peer, until: self.count(topic) < 2 and original(self, topic, peer, until)
    )


@plant("touch", 4)
def forget_who_did_not_answer(patch: Patch) -> None:
    patch.setattr(Absent, "lost", lambda self, peer: None)


@plant("touch", 128)
def never_ask_again_for_a_level_that_somebody_was_found_on(patch: Patch) -> None:
    patch.setattr(Search, "widen", lambda self, rung: None)
