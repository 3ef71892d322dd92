"""The price of a swap is what its brokers will say: by the tables that they have, whatever the routing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.overlay.swap import swap_messages
from reknit.core.routing.ideal import ideal_tables
from reknit.model.pattern import Pattern
from reknit.planning.price import SWAP_MESSAGES, Prices
from reknit.planning.tree import Swap, Tree
from tests.planning.test_gains import random_tree

LINE = Tree([("a", "b"), ("b", "c")])
TOPICS = ["t/1", "t/2", "t/+", "u/1", "u/#", "#"]


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_travels_is_what_the_middle_holds(seed: int, covering: bool) -> None:
    """Against the ideal table of the middle, from which an operator's estimate is made."""
    rng = random.Random(seed)
    tree = random_tree(rng, rng.randint(3, 9))
    wanted = {
        name: [Pattern.parse(topic) for topic in rng.sample(TOPICS, rng.randint(0, 3))] for name in tree.neighbours
    }
    tables = ideal_tables(tree.links, wanted, "subscription-forwarding", covering)
    prices = Prices(tree, wanted, "subscription-forwarding", covering)
    for swap in tree.swaps():
        behind = sorted(pattern for hop, pattern in tables[swap.middle] if hop == swap.mover)
        others = {pattern for hop, pattern in tables[swap.middle] if hop not in (swap.mover, swap.goal)}
        apart = sorted(others | set(wanted[swap.middle]))
        words = swap_messages(swap, "", [("", behind)], [("", apart)])
        assert prices.of(swap).messages == len(words)
        mover, middle = prices._sides(swap)
        assert (sorted(mover[0][1]), sorted(middle[0][1])) == (behind, apart)


@pytest.mark.parametrize(
    ("routing", "messages"), [("flooding", SWAP_MESSAGES), ("global-table", 13), ("subscription-forwarding", 15)]
)
def test_each_routing_has_its_own(routing: str, messages: int) -> None:
    wanted = {"a": [Pattern.parse(f"t/{number}") for number in range(100)]}
    prices = Prices(LINE, wanted, routing, covering=False)
    dear, cheap = prices.of(Swap("a", "b", "c")), prices.of(Swap("c", "b", "a"))
    assert dear.messages == messages
    assert (dear.bytes > cheap.bytes + 500) == (routing == "subscription-forwarding")
