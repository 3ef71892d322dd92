"""Topic-connected overlays: connected, with few links, and rebuilt where they have to be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from reknit.lab.connected import Connected, DcbOptions, greedy_merge, is_connected

Bools = npt.NDArray[np.bool_]


def drawn(topics: int, nodes: int, share: float, seed: int) -> Bools:
    return np.random.default_rng(seed).random((topics, nodes)) < share


def reached(links: Bools, wants: Bools, start: int) -> set[int]:
    """Plainly: from one node on, over links between nodes that want it."""
    found, front = {start}, [start]
    while front:
        one = front.pop()
        for other in np.flatnonzero(links[one] & wants).tolist():
            if other not in found:
                found.add(other)
                front.append(other)
    return found


def holds(links: Bools, wants: Bools) -> bool:
    return all(
        reached(links, row, int(np.flatnonzero(row)[0])) == set(np.flatnonzero(row).tolist())
        for row in wants
        if row.any()
    )


@pytest.mark.parametrize("seed", range(5))
def test_merging_connects_every_topic_and_the_test_for_it_is_right(seed: int) -> None:
    wants, links = drawn(12, 15, 0.3, seed), np.zeros((15, 15), np.bool_)
    assert is_connected(links, wants) == holds(links, wants)
    greedy_merge(links, wants, np.arange(15, dtype=np.int32))
    assert holds(links, wants)
    assert is_connected(links, wants)
    assert (links == links.T).all()
    ones, others = np.nonzero(np.triu(links))
    links[ones[0], others[0]] = links[others[0], ones[0]] = False
    assert is_connected(links, wants) == holds(links, wants)


def test_where_all_want_the_same_a_line_will_do() -> None:
    """Each link contributes to all topics, and low degrees come first."""
    links = np.zeros((8, 8), np.bool_)
    greedy_merge(links, np.ones((5, 8), np.bool_), np.arange(8, dtype=np.int32))
    assert links.sum() == 2 * 7
    assert links.sum(axis=0).max() == 2


def test_an_overlay_follows_its_topics_and_counts_what_differs() -> None:
    wants = drawn(20, 30, 0.2, 1)
    overlay = Connected(wants, np.random.default_rng(1), DcbOptions(groups=3))
    assert holds(overlay.links, wants)
    assert overlay.update(wants) == 0
    for seed in range(2, 6):
        before, wants = overlay.links.copy(), wants ^ drawn(20, 30, 0.05, seed)
        broken = not holds(before, wants)
        cost = overlay.update(wants)
        assert cost == np.count_nonzero(np.triu(before != overlay.links))
        assert broken == (cost > 0)
        assert holds(overlay.links, wants)


def test_an_event_goes_once_to_all_who_want_it_and_to_nobody_else() -> None:
    wants = drawn(20, 30, 0.3, 7)
    overlay = Connected(wants, np.random.default_rng(1))
    sources = np.array([int(np.flatnonzero(row)[0]) for row in wants], np.int32)
    messages, hops = overlay.spread(sources)
    assert (messages == wants.sum(axis=1) - 1).all()
    assert ((hops >= 0) == wants).all()
    assert (hops[np.arange(20), sources] == 0).all()
    strangers = np.array([int(np.flatnonzero(~row)[0]) for row in wants], np.int32)
    messages, hops = overlay.spread(strangers)
    assert (messages == wants.sum(axis=1)).all()
    assert hops[wants].min() == 1


def test_who_wants_much_is_set_apart_and_linked_all_the_same() -> None:
    wants = drawn(20, 30, 0.1, 3)
    wants[:, 4] = True
    overlay = Connected(wants, np.random.default_rng(1))
    assert holds(overlay.links, wants)
    assert not overlay._inside[4].any()
