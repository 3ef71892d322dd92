"""Plans for a ring of brokers: their time beside the paper's, and what the better search saves beside greedy.

Owns: these instances. Must not know: how a plan is found. Processor time counts, since others may use this machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from bench.rows import INFORMATION, Row
from reknit.lab.hashed import hashed_problem
from reknit.lab.interests import Interests, Pattern
from reknit.planning.counts import Means, compiled_is_there, make_account
from reknit.planning.greedy import dynatops_greedy, ssbr_greedy
from reknit.planning.notification import Problem
from reknit.planning.placement import Placement
from reknit.planning.ring import Ring
from reknit.planning.search import Bounds, better_search

__all__ = ["main", "problem_of", "run"]

SEED = 4
PAPER_S = {
    (10, 100): 0.028,
    (100, 100): 0.184,
    (1000, 100): 96.0,
    (100, 50): 0.098,
    (100, 500): 0.502,
    (100, 5000): 1.9,
}
"""Table 1, by brokers and topics."""
BUDGET_S: dict[Means, float] = {"compiled": 1.0, "arrays": 10.0}
SEARCH_S_MAX = 10.0
CLEARLY_MORE = 1.5
PLACEMENT_S_MAX = 5.0

T = TypeVar("T")


def run(quick: bool = False) -> list[Row]:
    means: list[Means] = ["compiled", "arrays"] if compiled_is_there() else ["arrays"]
    rows = [row for each in means for row in _table_1(each, quick)]
    brokers, trials_max = (100, 500) if quick else (1000, Bounds().trials_max)
    searches = [_search("multimodal", brokers, trials_max), _search("uniform", brokers, trials_max)]
    return [*rows, *searches, _placement(2_000 if quick else 50_000)]


def problem_of(pattern: Pattern, brokers: int, topics: int) -> Problem:
    return hashed_problem(pattern, brokers, topics, np.random.default_rng(SEED))


def _table_1(means: Means, quick: bool) -> list[Row]:
    _plan("uniform", 10, 100, means)  # what is compiled, or read from disk, is there from now on
    rows: list[Row] = []
    for (brokers, topics), paper_s in PAPER_S.items():
        if quick and brokers * topics > 10_000:
            continue
        taken_s, saved = _plan("uniform", brokers, topics, means)
        label = f"planner, {means}: {brokers:,} brokers, {topics:,} topics"
        note = f"{taken_s * 1e3:.0f} ms, the paper {paper_s * 1e3:.0f} ms; greedy saves {saved:.1%} of the cost"
        rows.append(Row(label, "paper's time = 1", INFORMATION, paper_s / taken_s, note))
        if (brokers, topics) == (1000, 100):
            budget_s = BUDGET_S[means]
            rows.append(Row(label, f"{budget_s:g} s = 1", 1.0, budget_s / taken_s, f"{taken_s:.2f} s, with routes"))
    return rows


def _plan(pattern: Pattern, brokers: int, topics: int, means: Means) -> tuple[float, float]:
    """Seconds for DYNATOPS-Greedy with routes, and the part of the cost that its way saves."""
    given = problem_of(pattern, brokers, topics)

    def plan() -> float:
        problem = Problem(Ring(given.ring.ids), given.keys, given.wants, given.events)
        account = make_account(problem, np.arange(brokers, dtype=np.int32), means)
        before = account.cost
        dynatops_greedy(account)
        return 1 - account.cost / before

    return _timed(plan)


def _search(pattern: Pattern, brokers: int, trials_max: int) -> Row:
    problem, places = problem_of(pattern, brokers, 100), np.arange(brokers, dtype=np.int32)
    greedy = make_account(problem, places)
    before = greedy.cost
    ssbr_greedy(greedy)
    account, rng = make_account(problem, places), np.random.default_rng(SEED)
    taken_s, found = _timed(lambda: better_search(account, rng, Bounds(trials_max=trials_max), priced=False))
    plain, better = 1 - greedy.cost / before, 1 - found.cost / before
    within = better / plain if taken_s <= SEARCH_S_MAX else 0.0
    note = f"{better:.1%} of the cost beside {plain:.1%}, in {taken_s:.1f} s; goal: 2"
    return Row(f"better search, {pattern}, {brokers:,} brokers, 100 topics", "greedy = 1", CLEARLY_MORE, within, note)


def _placement(users: int) -> Row:
    rng = np.random.default_rng(SEED)
    wanted = Interests("multimodal", 1000, 5, 100).draw(users, rng).tolist()

    def place() -> Placement:
        placement = Placement(100, 1000)
        for user, topics in enumerate(wanted):
            placement.join(user, topics, int(rng.integers(100)))
            if user % 500 == 499:
                placement.exchange()
        return placement

    taken_s, placement = _timed(place)
    note = f"{taken_s:.1f} s; a broker wants {placement.wants.sum() / 100:.0f} of 1,000 topics"
    return Row(f"placement of {users:,} users on 100 brokers", "5 s = 1", 1.0, PLACEMENT_S_MAX / taken_s, note)


def _timed(deed: Callable[[], T]) -> tuple[float, T]:
    begin = time.process_time()
    found = deed()
    return time.process_time() - begin, found


def main() -> None:
    for row in run(quick="--quick" in sys.argv):
        print(f"{row.measure:58} {row.measured:9.1f}  (at least {row.at_least:g})  {row.note}")


if __name__ == "__main__":
    main()
