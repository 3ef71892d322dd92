"""The paper's weights, and the bound that no algorithm gets below."""

from __future__ import annotations

import pytest

from reknit.core.overlay.change import make_change
from reknit.core.routing.ideal import ideal_tables
from reknit.lab.overhead import ideal_bits, lower_bound, weigh
from reknit.lab.replacement import STRATEGIES, bound_of, chance, run_world
from reknit.lab.worlds import Replacement, bits_of, characters_of, draw_world, pattern_of
from reknit.wire.messages import AskHeld, Ctrl, Flush, Held, Leave, Message, Rec, Snapshot, Sub, Unsub

P, Q, R = (pattern_of(character) for character in range(3))
CHANGE = make_change("c", "path", ["a"], ["d", "b"])


@pytest.mark.parametrize(
    ("message", "weight"),
    [
        (Sub([P]), 1.0),
        (Unsub([P]), 1.0),
        (Sub([P, Q, R]), 7 / 3),
        (Snapshot([("", [P, Q, R])], True), 3.0),
        (Rec(CHANGE, [], [], b"", True), 1 / 3),
        (Rec(CHANGE, [P, Q], [Q], b"", True), 7 / 3),
        (Rec(CHANGE, [P, Q], [Q], b"", False), 2.0),
        (Rec(CHANGE, [], [], b"digest", True), 1.0),
        (Ctrl("c"), 0.1),
        (AskHeld("c"), 0.1),
        (Flush(CHANGE), 0.2),
        (Held("c", [P], True), 1.0),
        (Leave(), 0.0),
    ],
)
def test_what_a_message_weighs(message: Message, weight: float) -> None:
    """Section 5.3: weight(RECMSG) = weight(SUB) * (2 (|Padd| + |Pdel|) / 3 + 1/3)."""
    assert weigh(message) == pytest.approx(weight)


@pytest.mark.parametrize("seed", range(5))
def test_ideal_bits_are_the_ideal_tables(seed: int) -> None:
    world = draw_world("random", 20, 0.5, 5, chance(seed))
    wanted = {name: [pattern_of(each) for each in characters_of(bits)] for name, bits in world.wants.items()}
    tables = ideal_tables(world.edges, wanted, "subscription-forwarding")
    bits = ideal_bits(world.edges, world.wants)
    for (name, peer), wants in bits.items():
        assert {pattern for hop, pattern in tables[name] if hop == peer} == set(map(pattern_of, characters_of(wants)))


def test_the_bound_names_each_pattern_once_to_each_broker_that_has_to_change() -> None:
    """a - b, c - a, d - b; a - b is replaced by c - d, and d wants p: c has to learn of p, d of nothing."""
    edges = [("a", "b"), ("a", "c"), ("b", "d")]
    replacement = Replacement(3.0, ("a", "c"), ("d", "b"))
    assert lower_bound(edges, {"d": bits_of([0])}, replacement) == pytest.approx(1.0)
    assert lower_bound(edges, {"d": bits_of([0, 1])}, replacement) == pytest.approx(5 / 3)
    assert lower_bound(edges, {}, replacement) == 0.0


@pytest.mark.parametrize("label", STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_no_strategy_gets_below_the_bound(label: str, seed: int) -> None:
    world = draw_world("random", 24, 0.4, 10, chance(seed))
    assert run_world(world, label, str(seed)).weight > bound_of(world)
