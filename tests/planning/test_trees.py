from __future__ import annotations

from reknit.model.ring import ring_id
from reknit.planning.trees import ideal_trees, way_up

IDS = {name: place for place, name in enumerate("ABCDEFGH")}


def test_the_example_of_the_paper_on_eight_brokers() -> None:
    """Erratum 26: from 1 the fingers are 2, 3 and 5; so with subscribers there a tree has no relay and a depth of 1."""
    topic = next(f"t{number}" for number in range(999) if ring_id(f"t{number}", 3) == 1)
    trees = ideal_trees(IDS, {name: [topic] for name in "BCDF"}, bits=3)
    assert {name: hops for name, hops in trees.items() if hops} == {"B": {("C", topic), ("D", topic), ("F", topic)}}


def test_a_way_up_ends_at_the_owner_of_the_key() -> None:
    topic = next(f"t{number}" for number in range(999) if ring_id(f"t{number}", 3) == 4)
    assert way_up(IDS, "E", topic, bits=3) == ["E"]
    assert way_up(IDS, "F", topic, bits=3) == ["F", "B", "D", "E"]


def test_nobody_wants_anything() -> None:
    assert ideal_trees(IDS, {}, bits=3) == {name: set() for name in IDS}
