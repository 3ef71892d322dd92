"""Trees as values."""

from __future__ import annotations

import pytest

from reknit.planning.tree import NoTree, Swap, Tree, swapped

LINE = [("a", "b"), ("b", "c"), ("c", "d"), ("c", "e")]


def test_it_does_not_matter_how_a_tree_is_given() -> None:
    one, other = Tree(LINE), Tree([(b, a) for a, b in reversed(LINE)])
    assert (one.links, one.neighbours) == (other.links, other.neighbours)


@pytest.mark.parametrize("links", [[("a", "b"), ("b", "c"), ("a", "c")], [("a", "b"), ("c", "d")]])
def test_what_is_no_tree_is_refused(links: list[tuple[str, str]]) -> None:
    with pytest.raises(NoTree, match="form no tree"):
        Tree(links)


def test_the_span_connects_brokers_and_nothing_else() -> None:
    tree = Tree(LINE)
    assert tree.span(["a", "d"]) == {("a", "b"), ("b", "c"), ("c", "d")}
    assert tree.span(["d", "e"]) == {("c", "d"), ("c", "e")}
    assert tree.span(["d", "e", "a"]) == set(tree.links)
    assert tree.span(["a"]) == tree.span([]) == tree.span(["gone", "a"]) == set()


def test_a_swap_slides_one_end_of_a_link() -> None:
    tree = Tree(LINE)
    assert swapped(tree, Swap("a", "b", "c")).links == (("a", "c"), ("b", "c"), ("c", "d"), ("c", "e"))
    assert sorted(tree.swaps())[0] == Swap("a", "b", "c")
    assert len(list(tree.swaps())) == 2 + 6
