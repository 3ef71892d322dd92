from __future__ import annotations

from itertools import pairwise

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.model.ring import ring_id
from reknit.planning.trees import ideal_trees, way_up
from reknit.sim.checkers.trees import check_trees
from reknit.trace.records import DRAINED, Kind, Record

TOPIC = Pattern("t")
NAMES = ("b1", "b2", "b3")
IDS = {name: ring_id(name) for name in NAMES}
IDEAL = ideal_trees(IDS, {"b2": ["t"], "b3": ["t"]})
HOPS = [(node, peer) for node, hops in IDEAL.items() for peer, _ in hops]


def quiet(version: int = 1) -> list[Record]:
    """A ring on which b2 and b3 want a topic, and have it."""
    records = [Record(0.0, name, Kind.STARTED) for name in NAMES]
    records += [Record(0.0, name, Kind.PLACED, size=1, detail=str(IDS[name])) for name in NAMES]
    records[-1].size = version
    records += [Record(1.0, name, Kind.SUBSCRIBED, client="c", pattern=TOPIC) for name in ("b2", "b3")]
    return records + [Record(1.0, node, Kind.ROUTE_ADDED, peer=peer, pattern=TOPIC) for node, peer in HOPS]


def found(*records: Record, version: int = 1) -> list[str]:
    told = [*quiet(version), Record(2.0, "", Kind.CALM), *records, Record(5.0, "", Kind.CALM)]
    return [each.what for each in check_trees(told)]


def test_the_ideal_trees_are_fine() -> None:
    assert HOPS
    assert found() == []


def test_a_branch_that_is_missing_and_one_that_is_stale() -> None:
    (node, peer) = HOPS[0]
    assert found(Record(3.0, node, Kind.ROUTE_REMOVED, peer=peer, pattern=TOPIC)) == [
        f"{node} does not send t on to {peer}"
    ]
    assert found(Record(3.0, "b1", Kind.ROUTE_ADDED, peer="b2", pattern=Pattern("u"))) == [
        "b1 sends u on to b2 in vain"
    ]


def test_whoever_has_gone_is_no_part_of_the_ring() -> None:
    ends = [Record(3.0, "b2", Kind.CRASHED)], [Record(3.0, "b2", Kind.CHANGE, detail=DRAINED)]
    for end in ends:
        assert any("b2" in each for each in found(*end)) == any("b2" in hop[1] for hop in HOPS)


def test_two_versions_are_one_too_many() -> None:
    assert found(version=2)[0] == "there are several: {'b1': 1, 'b2': 1, 'b3': 2}"


def test_an_event_that_crosses_a_link_in_vain() -> None:
    event = Event("t", source="b1.1", seq=1)
    way = way_up(IDS, "b1", "t")
    hops = [*pairwise(way), *HOPS]
    told = [Record(3.0, "b1", Kind.PUBLISHED, event=event)]
    told += [Record(3.0, node, Kind.FORWARDED, peer=peer, event=event) for node, peer in hops]
    assert found(*told) == []
    node, peer = hops[0]
    again = Record(3.0, node, Kind.FORWARDED, peer=peer, event=event)
    assert found(*told, again) == [f"('b1.1', 1) (t) crossed {node} - {peer} 1 times too often"]


def test_two_on_one_place_are_no_ring() -> None:
    assert found(Record(3.0, "b1", Kind.PLACED, size=1, detail=str(IDS["b2"])))[0].startswith("two places have")
