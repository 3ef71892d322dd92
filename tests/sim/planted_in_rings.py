"""Bugs to plant in brokers on a ring, one at a time: does the check see them? None is shipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reknit.core.io import Match
from reknit.core.links.returning import ReturningLink
from reknit.core.placement.arriving import Arriving
from reknit.core.placement.interests import Choice, Interests
from reknit.core.placement.leaving import Leaving
from reknit.core.placement.placement import Placement
from reknit.core.ring.carriage import Carriage
from reknit.core.ring.domain import Domain
from reknit.core.ring.manager import Manager
from reknit.core.ring.member import Member
from reknit.core.ring.order import Load, Order
from reknit.core.ring.reshaping import Reshaping
from reknit.core.ring.trees import Trees
from reknit.wire.placement import Passed
from reknit.wire.planes import Staged

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


@plant("delivery", 59)
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


# --- sessions that move


@plant("delivery", 44)
def _what_its_client_has_had_is_forgotten_on_the_way(patch: Patch) -> None:
    patch.setattr(Arriving, "on_lasts", lambda arriving, peer, lasts: None)


@plant("delivery", 135)
def _what_is_kept_aside_is_not_passed_on(patch: Patch) -> None:
    def keep(leaving: Leaving, load: Load, matches: tuple[Match, ...]) -> tuple[Match, ...]:
        return tuple(each for each in matches if each[0] not in leaving._going or not leaving._going[each[0]].switched)

    patch.setattr(Leaving, "sift_load", keep)


@plant("order", 44)
def _what_comes_on_two_ways_is_delivered_as_it_comes(patch: Patch) -> None:
    def take(arriving: Arriving, peer: str, passed: Passed) -> None:
        if (coming := arriving._of(peer, passed)) is not None and coming.order is not None:
            arriving._deliver(passed.client, [Load(each, 0, ()) for each in passed.events])

    patch.setattr(Arriving, "on_passed", take)


@plant("order", 1017)
def _its_client_goes_before_its_events_have_settled(patch: Patch) -> None:
    place = Leaving.exported

    def exported(leaving: Leaving, client: str, state: bytes) -> None:
        leaving.published = list
        place(leaving, client, state)

    patch.setattr(Leaving, "exported", exported)


@plant("placing", 1)
def _who_has_moved_may_go_again_at_once(patch: Patch) -> None:
    came, best_for = Placement._came, Interests.best_for

    def again(placement: Placement, client: str) -> None:
        came(placement, client)
        placement._stays_until.pop(client, None)
        placement._looks.set(client, placement.turn.now)

    def always(interests: Interests, *given: Any) -> Choice | None:
        choice = best_for(interests, *given)
        return None if choice is None else Choice(choice.interest, choice.gain + 10.0)

    patch.setattr(Placement, "_came", again)
    patch.setattr(Interests, "best_for", always)


@plant("liveness", 55)
def _a_session_that_is_taken_back_stays_where_it_was_to_go(patch: Patch) -> None:
    patch.setattr(Arriving, "on_withdraw", lambda arriving, peer, withdraw: None)


# --- changes of places


@plant("delivery", 25)
def _the_manager_waits_for_nobody(patch: Patch) -> None:
    """As soon as one broker has done a step, the next begins."""
    receive = Manager.receive

    def hasty(self: Manager, peer: str, staged: Staged) -> None:
        if self._task is not None and not staged.error:
            self._task.waiting = dict.fromkeys([peer])
        receive(self, peer, staged)

    patch.setattr(Manager, "receive", hasty)


@plant("trees", 5)
def _trees_of_a_new_place_are_not_put_right(patch: Patch) -> None:
    patch.setattr(Trees, "put_right", lambda self: None)


@plant("versions", 5)
def _who_is_behind_is_not_told(patch: Patch) -> None:
    patch.setattr(Reshaping, "_tell_seldom", lambda self, peer, message: None)
