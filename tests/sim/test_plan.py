"""What a seed draws: the same at each call, and all kinds of schedules in a few hundred."""

from __future__ import annotations

from reknit.sim.plan import FOCI, draw


def test_a_seed_draws_the_same_plan_for_ever() -> None:
    assert [draw(seed) for seed in range(20)] == [draw(seed) for seed in range(20)]


def test_every_kind_of_change_is_drawn() -> None:
    plans = [draw(seed) for seed in range(300)]
    for name in ("swaps_per_s", "links_per_s", "replaces_per_s", "drains", "newcomers", "lost_s"):
        drawn = {getattr(plan, name) for plan in plans}
        assert 0 in drawn
        assert len(drawn) > 1, name


def test_a_focus_keeps_the_network_and_changes_what_happens_to_it() -> None:
    for seed in range(50):
        plain = draw(seed)
        assert not plain.groups
        assert draw(seed, "groups").groups
        for focus in FOCI[1:3]:
            plan = draw(seed, focus)
            assert (plan.shape, plan.routing, plan.network) == (plain.shape, plain.routing, plain.network)
            assert plan.swaps_per_s
            assert plan.drains
            assert bool(plan.faults.crashes) == (focus == "crashes")
