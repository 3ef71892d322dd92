"""Links are replaced in random trees while clients come and go: tables are ideal, brokers off the path untouched.

Then bugs are planted, one at a time, as the errata (section 8.1, rows marked with a dagger) found them in the paper's
pseudo-code or next to it; each must be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reknit.core.overlay.change import Place
from reknit.core.overlay.path import Path
from reknit.core.overlay.path_batched import PathBatched
from reknit.core.routing.edits import Edits
from reknit.core.routing.table import Table
from reknit.model.pattern import Pattern
from reknit.wire.messages import Rec
from tests.sim.replacements import STRATEGIES, Trial, run_trial

SEEDS = 10
PLANTED_SEEDS_MAX = 200


@pytest.mark.parametrize("planned", [False, True], ids=["unplanned", "planned"])
@pytest.mark.parametrize("churn", [0, 12], ids=["quiet", "churn"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_after_each_change_every_table_is_ideal(strategy: str, churn: int, planned: bool) -> None:
    for seed in range(SEEDS):
        assert run_trial(Trial(strategy, churn=churn, planned=planned), seed) == []


@pytest.mark.parametrize("planned", [False, True], ids=["unplanned", "planned"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_changes_with_disjoint_paths_run_at_once(strategy: str, planned: bool) -> None:
    for seed in range(SEEDS):
        assert run_trial(Trial(strategy, at_once=3, planned=planned, changes=2), seed) == []


def test_deferred_may_be_notified() -> None:
    for seed in range(SEEDS):
        assert run_trial(Trial("deferred", notified=True), seed) == []


@pytest.mark.parametrize("strategy", ["strawman", "deferred"])
def test_with_covering(strategy: str) -> None:
    for seed in range(SEEDS):
        assert run_trial(Trial(strategy, covering=True), seed) == []


# --- planted bugs

Patch = pytest.MonkeyPatch
PLANTED: dict[str, Callable[[Patch], None]] = {}


def plant(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
    PLANTED[function.__name__.replace("_", "-")] = function
    return function


@plant
def count_the_subscriber_just_entered(patch: Patch) -> None:
    """Row 1: the tests of Figure 12 come after the insertion."""
    original = Table.wanted_apart_from
    patch.setattr(
        Table,
        "wanted_apart_from",
        lambda self, hop, pattern: original(self, hop, pattern) and len(self._by_pattern.get(pattern, ())) < 3,
    )


@plant
def the_near_end_belongs_to_the_head(patch: Patch) -> None:
    """Row 5: C counts as head too, and both blocks of ``recmsgReceived`` fire there."""
    original = Path._walk

    def walk(self: Path, place: Place, add: list[Pattern], delete: list[Pattern]) -> None:
        original(self, place, add, delete)
        if place.is_near:
            self._pass_on(place, add, self.hands.tables.wanted_only_by(place.behind, delete))

    patch.setattr(Path, "_walk", walk)


@plant
def see_what_is_left_before_the_update(patch: Patch) -> None:
    """Row 8: P_del is computed before the table is updated."""
    only_by = Edits.wanted_only_by
    before: dict[int, dict[tuple[str, Pattern], bool]] = {}
    enter = Edits.enter

    def early(self: Edits, neighbour: str, patterns: list[Pattern]) -> None:
        void = only_by(self, neighbour, patterns)
        before[id(self)] = {(neighbour, pattern): pattern in void for pattern in patterns}
        enter(self, neighbour, patterns)

    def late(self: Edits, neighbour: str, patterns: list[Pattern]) -> list[Pattern]:
        return [pattern for pattern in patterns if before.get(id(self), {}).get((neighbour, pattern), False)]

    patch.setattr(Edits, "enter", early)
    patch.setattr(Edits, "wanted_only_by", late)


@plant
def ignore_nothing(patch: Patch) -> None:
    """Row 9: without the ignore table."""
    patch.setattr(Path, "ignored", lambda self, peer: ())


@plant
def ignore_for_ever(patch: Patch) -> None:
    """Row 9: the ignore table is not cleared on CTRLMSG."""
    patch.setattr(Path, "_ctrl", lambda self, peer, id_: None)


@plant
def send_back_what_came_over_the_new_link(patch: Patch) -> None:
    """Row 14: reconciliation without excluding prev(RP)."""
    original = Path._reconcile

    def reconcile(self: Path, far: Any) -> None:
        original(self, far)
        routing, peer = self.hands.tables._routing, far.place.before  # type: ignore[attr-defined]
        for pattern in self.hands.tables.wanted_by(peer):
            routing._say(peer, *routing._told[peer].want(pattern))

    patch.setattr(Path, "_reconcile", reconcile)


@plant
def keep_what_the_first_wanted(patch: Patch) -> None:
    """Row 15: B never gives up what A wanted."""
    patch.setattr(Path, "_drop_first", lambda self, place: self._kept.pop(place.behind, None))


@plant
def strike_before_the_new_routes_are_there(patch: Patch) -> None:
    """B removes A as soon as the link is lost: destruction before construction. Only brokers off the path notice."""
    patch.setattr(Path, "keeps", False)


@plant
def take_nothing_back_over_the_new_link(patch: Patch) -> None:
    """Row 13: no unsubscriptions by last(newLink) and no reconciliation."""

    def compare(self: Path, place: Place, rec: Rec) -> None:
        self.hands.tables.begin_telling(place.before, rec.add, hold=False)

    patch.setattr(Path, "_compare", compare)


@plant
def forget_what_was_deleted_on_the_way(patch: Patch) -> None:
    """The receiver of a Rec does not strike what the sender does not want any more."""
    patch.setattr(Path, "_read", lambda self, rec: (rec.add, []))


@plant
def believe_nobody_has_come_or_gone(patch: Patch) -> None:
    """path-batched: the digest is not compared."""
    patch.setattr("reknit.core.overlay.path_batched.digest_of", lambda patterns: b"")


@plant
def read_only_what_is_added(patch: Patch) -> None:
    """path-batched: what is deleted is not added."""
    patch.setattr(PathBatched, "_read", lambda self, rec: (rec.add, rec.delete))


BATCHED_ONLY = {"believe-nobody-has-come-or-gone", "read-only-what-is-added"}


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_bug_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    trial = Trial("path-batched" if name in BATCHED_ONLY else "path", brokers_max=20, churn=20, density=0.3)
    seen = next((seed for seed in range(PLANTED_SEEDS_MAX) if _is_troubled(trial, seed)), None)
    assert seen is not None, f"{name} was not seen in {PLANTED_SEEDS_MAX} trials"
    monkeypatch.undo()
    assert run_trial(trial, seen) == [], "it is no bug of ours that was seen"


def _is_troubled(trial: Trial, seed: int) -> bool:
    try:
        return bool(run_trial(trial, seed))
    except AssertionError:
        return True  # not even the start comes to rest
