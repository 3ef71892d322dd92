"""Bugs to plant in brokers on a ring, one at a time: does the check see them? None is shipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reknit.core.links.returning import ReturningLink
from reknit.core.ring.carriage import Carriage
from reknit.core.ring.domain import Domain
from reknit.core.ring.member import Member
from reknit.core.ring.order import Load, Order
from reknit.core.ring.trees import Trees

Patch = pytest.MonkeyPatch
PLANTED: dict[str, tuple[Callable[[Patch], None], str, int]] = {}
"""By name: the bug, the checker that is to find it, and the schedule to begin with."""


def plant(checker: str, near: int) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def mark(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
        PLANTED[function.__name__.strip("_").replace("_", "-")] = (function, checker, near)
        return function

    return mark


@plant("liveness", 0)
def _what_comes_back_is_thrown_away(patch: Patch) -> None:
    patch.setattr(ReturningLink, "returned", lambda link: [])


@plant("delivery", 0)
def _a_new_root_does_not_wait(patch: Patch) -> None:
    patch.setattr(Domain, "knows", lambda domain, key: True)


@plant("delivery", 0)
def _copies_are_delivered(patch: Patch) -> None:
    def all_new(order: Order, load: Load) -> Iterator[Load]:
        yield load

    patch.setattr(Order, "arrive", all_new)


@plant("trees", 0)
def _a_root_that_is_none_keeps_its_members(patch: Patch) -> None:
    patch.setattr(Trees, "disowned", lambda trees: {})


@plant("trees", 0)
def _who_has_gone_is_never_lost(patch: Patch) -> None:
    patch.setattr(Trees, "lost", lambda trees, peer: False)


@plant("liveness", 0)
def _nothing_is_said_again(patch: Patch) -> None:
    patch.setattr(Trees, "refresh", lambda trees: False)


@plant("delivery", 45)
def _a_leaver_hands_nothing_over(patch: Patch) -> None:
    def leave(member: Member) -> None:
        before = member.chord.before
        if before is not None:
            member._hand(member.chord.successor, before[0], member.me[0], {}, whole=True)
        member.chord.leave()

    patch.setattr(Member, "leave", leave)


@plant("bounds", 0)
def _there_is_no_room_to_wait(patch: Patch) -> None:
    begin = Carriage.__init__

    def small(carriage: Carriage, *given: Any, **more: Any) -> None:
        begin(carriage, *given, **more)
        carriage.waiting_max = 0

    patch.setattr(Carriage, "__init__", small)
