"""One run of one world with one strategy."""

from __future__ import annotations

import pytest

from reknit.core.overlay.shapes import shape_edges
from reknit.lab.replacement import STRATEGIES, Churn, chance, diameter, reach_s, run_world
from reknit.lab.worlds import draw_world


@pytest.mark.parametrize("label", STRATEGIES)
def test_a_run_ends_with_ideal_tables(label: str) -> None:
    world = draw_world("random", 20, 0.4, 5, chance(label))
    run = run_world(world, label, "1")
    end = run.history.moved[-1]
    ideal = run.history.ideal(end)
    for (name, peer), wanted in ideal.items():
        assert run.history.routes(name, end).get(peer, 0) == wanted


def test_the_same_run_twice_is_the_same() -> None:
    world = draw_world("random", 20, 0.4, 5, chance(1))
    one, other = (run_world(world, "path", "1") for _ in range(2))
    assert (one.weight, one.kinds, one.link_bytes) == (other.weight, other.kinds, other.link_bytes)


def test_tables_move_only_while_links_are_replaced() -> None:
    world = draw_world("random", 20, 0.4, 5, chance(1))
    spans = run_world(world, "path", "1").moving()
    assert len(spans) == len(world.replacements)
    for (start, end), each in zip(spans, world.replacements, strict=True):
        assert each.at_s == pytest.approx(start)
        assert 0.1 <= end - start < 0.3


def test_clients_may_change_their_minds_meanwhile() -> None:
    world = draw_world("random", 10, 0.0, 1, chance(1))
    run = run_world(world, "path", "1", [Churn(1.0, "b1", 5, True), Churn(2.0, "b1", 5, False)])
    assert run.kinds["Sub"] == 9
    assert run.kinds["Unsub"] == 9


def test_the_longest_path() -> None:
    assert diameter(shape_edges("line", list("abcdef"), chance(0))) == 5
    assert diameter(shape_edges("star", list("abcdef"), chance(0))) == 2
    assert reach_s(draw_world("bushy", 30, 0.1, 1, chance(0))) >= 0.004
