"""The gain of a swap is exact: held to computing the cost of the tree before and after (reference, section 7.1)."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.overlay.shapes import names, shape_edges
from reknit.planning.gains import Flow, Gains, cost
from reknit.planning.tree import Swap, Tree, swapped


def random_tree(rng: random.Random, count: int) -> Tree:
    return Tree(shape_edges(rng.choice(("line", "star", "random", "bushy")), names(count), rng))


def random_flows(rng: random.Random, tree: Tree) -> list[Flow]:
    brokers = list(tree.neighbours)
    some = [rng.sample(brokers, rng.randint(1, min(5, len(brokers)))) for _ in range(rng.randint(0, 30))]
    return [Flow(tuple(sorted(each)), rng.randint(1, 9)) for each in some]


@given(st.integers(0, 2**32), st.integers(2, 14))
@settings(max_examples=150, deadline=None)
def test_the_gain_of_every_swap_is_what_the_trees_cost(seed: int, count: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(rng, count)
    flows = random_flows(rng, tree)
    before = cost(tree, flows)
    found = Gains(tree, flows).all()
    assert sorted(swap for swap, _ in found) == sorted(tree.swaps())
    for swap, gain in found:
        assert gain == before - cost(swapped(tree, swap), flows)


def test_an_example_by_hand() -> None:
    """Of ten events between a and c, each saves one crossing; of three between a and b, each costs one more."""
    tree = Tree([("a", "b"), ("b", "c")])
    flows = [Flow(("a", "c"), 10), Flow(("a", "b"), 3), Flow(("a", "b", "c"), 7), Flow(("b", "c"), 5)]
    assert cost(tree, flows) == 2 * 10 + 3 + 2 * 7 + 5
    assert Gains(tree, flows).all()[0] == (Swap("a", "b", "c"), 7)
