"""What a seed decides: always the same, and within what a focus promises."""

from __future__ import annotations

import pytest

from reknit.sim.campaign import check_seed
from reknit.sim.faults import FaultOptions
from reknit.sim.plans import FOCI, Focus, broker_options, draw, own_options
from reknit.sim.schedule import run
from reknit.trace.records import Kind


@pytest.mark.parametrize("focus", FOCI)
def test_a_seed_draws_the_same_plan_each_time(focus: Focus) -> None:
    assert [draw(seed, focus) for seed in range(20)] == [draw(seed, focus) for seed in range(20)]
    assert len({str(draw(seed, focus)) for seed in range(20)}) == 20


def test_a_focus_draws_what_it_says() -> None:
    plans = {focus: [draw(seed, focus) for seed in range(50)] for focus in FOCI}
    assert any(plan.faults == FaultOptions() for plan in plans["all"])
    assert all(plan.drains and plan.swaps_per_s and not plan.faults.crashes for plan in plans["changes"])
    assert all(plan.drains and plan.swaps_per_s and plan.faults.crashes for plan in plans["crashes"])
    assert all(plan.lasting and plan.faults.crashes and not plan.faults.losses for plan in plans["stores"])
    assert any(plan.drains and plan.unique for plan in plans["stores"])
    assert not any(plan.lasting for focus in FOCI[:3] for plan in plans[focus])
    assert all(plan.groups and plan.churn_per_s for plan in plans["groups"])
    assert not any(plan.groups for focus in FOCI[:3] for plan in plans[focus])
    assert all(plan.recovery != "none" and plan.network.loss and not plan.covering for plan in plans["loss"])
    lossy = [draw(seed, "loss") for seed in range(150)]
    assert len({(plan.recovery, plan.network.loss) for plan in lossy}) == 18
    assert 50 < sum(plan.recovery == "auto" for plan in lossy) < 100
    for drawn in ("drains", "lasting", "groups", "replaces_per_s", "mixed", "order_s"):
        assert len({bool(getattr(plan, drawn)) for plan in lossy}) == 2, drawn
    assert not any(plan.recovery != "none" for focus in FOCI[:5] for plan in plans[focus])
    for focus in ("changes", "crashes"):
        assert all(plan.aims and plan.targets for plan in plans[focus])
        assert len({plan.notified for plan in plans[focus]}) == 2
    assert not any(plan.aims or plan.targets or plan.notified for plan in plans["all"])


def test_every_kind_of_change_is_drawn() -> None:
    plans = [draw(seed) for seed in range(300)]
    for name in ("swaps_per_s", "links_per_s", "replaces_per_s", "drains", "newcomers", "lost_s"):
        drawn = {getattr(plan, name) for plan in plans}
        assert 0 in drawn
        assert len(drawn) > 1, name


def test_where_something_is_lost_for_good_some_schedules_have_standby_links() -> None:
    plans = [draw(seed) for seed in range(400)]
    assert not any(plan.standby for plan in plans if not plan.faults.losses)
    having = [plan for plan in plans if plan.standby]
    assert len(having) > 20
    assert {plan.faults.lost_links for plan in having} == {True, False}
    for plan in having[:5]:
        one, other = plan.standby[0]
        options = broker_options(plan, 120.0)
        assert own_options(plan, options, one).repair.standby[other] == other
        assert own_options(plan, options, other).repair.standby[one] == one
        assert own_options(plan, options, "n9").repair.standby == {}


def test_standby_links_are_used_in_schedules() -> None:
    used = 0
    for seed in [seed for seed in range(250) if draw(seed).standby][:12]:
        result = check_seed(seed)
        assert not result.violations, f"reknit check --seed {seed}: {result.violations[0]}"
        used += result.coverage["repair: standby links that became links"]
    assert used > 2


def test_a_focus_keeps_the_network_and_changes_what_happens_to_it() -> None:
    for seed in range(50):
        plain = draw(seed)
        for focus in FOCI[1:-1]:  # the last needs links of another kind
            plan = draw(seed, focus)
            assert (plan.shape, plan.routing, plan.network) == (plain.shape, plain.routing, plain.network)


def test_brokers_with_stores_that_crash_lose_nothing() -> None:
    """Not even what was published at a broker that dies before anybody else has it."""
    crashes = owed = 0
    for seed in range(25):
        outcome = run(draw(seed, "stores"))
        assert not outcome.violations, f"reknit check --seed {seed} --focus stores: {outcome.violations[0]}"
        crashes += outcome.faults.get("crash", 0) + outcome.faults.get("crashed broker", 0)
        owed += outcome.tally.owed
    assert crashes > 100
    assert owed > 3000


def test_what_links_lose_comes_back_as_long_as_somebody_has_it() -> None:
    recovered = lost = owed = 0
    for seed in range(6):
        outcome = run(draw(seed, "loss"))
        assert not outcome.violations, f"reknit check --seed {seed} --focus loss: {outcome.violations[0]}"
        recovered += sum(record.kind is Kind.RECOVERED for record in outcome.records)
        owed += outcome.tally.owed
        lost += outcome.tally.lost
    assert owed > 2000
    assert recovered > 400
    assert lost < owed / 100  # what crashed brokers had alone
