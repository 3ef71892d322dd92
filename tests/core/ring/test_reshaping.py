"""A planned change of places: two versions at once, and in the end one, whoever dies in between."""

from __future__ import annotations

from collections import Counter

import pytest

from reknit.core.ring.options import RingOptions
from reknit.core.ring.reshaping import fault_of
from reknit.model.ring import ring_id
from reknit.planning.change import change_cost
from reknit.planning.trees import ideal_trees
from reknit.trace.records import Kind
from reknit.wire.codec import decode
from reknit.wire.planes import Places, Step
from reknit.wire.ring import Ringed
from tests.core.ring.circles import Ring, grown

TOPICS = [f"t{number}" for number in range(6)]


def busy(count: int) -> Ring:
    """On which every second broker wants each topic."""
    ring = grown(count)
    for number in range(1, count + 1):
        ring.wants(f"b{number}", f"c{number}", *TOPICS[number % 2 :: 2])
    ring.run(12.0)
    return ring


def differences(ring: Ring) -> list[str]:
    """Between the trees that there are and the ideal ones, of all brokers that live."""
    alive = [name for name in ring.nodes if ring.is_alive(name)]
    shown = {name: ring.broker(name).ring.shown() for name in alive}
    wants = {name: each["wanted"] for name, each in shown.items()}
    ideal = ideal_trees({name: each["id"] for name, each in shown.items()}, wants)
    real = {
        name: {(hop, topic) for topic, hops in each["children"].items() for hop in hops} for name, each in shown.items()
    }
    return [name for name in alive if ideal[name] != real[name]]


def talk(ring: Ring, events: int = 40) -> None:
    for number in range(events):
        ring.says("b1", TOPICS[number % 6], str(number))
        ring.run(0.1)


def test_nothing_is_lost_doubled_or_out_of_order_while_all_change_places() -> None:
    ring = busy(5)
    asked = ring.reshape("b2", 1, ring.turned("b1", "b2", "b3", "b4", "b5"))
    talk(ring)
    ring.run(25.0)
    assert ring.replies[asked] == ""
    (version,) = ring.versions()
    assert version > 1
    assert differences(ring) == []
    assert all(list(ring.broker(name).ring.planes) == [version] for name in ring.nodes)
    for number in range(1, 6):
        wanted = [str(each) for each in range(40) if (each % 6) % 2 == number % 2]
        had = ring.had(f"c{number}")
        assert sorted(had, key=int) == wanted
        for topic in range(6):
            line = [int(each) for each in had if int(each) % 6 == topic]
            assert line == sorted(line)


def test_what_clients_come_to_want_meanwhile_is_said_in_both_versions() -> None:
    ring = busy(4)
    ring.reshape("b2", 1, ring.turned("b1", "b3"))
    ring.run(0.3)
    ring.wants("b4", "late", "t1", "new")
    ring.detach("b3", "c3")
    ring.run(30.0)
    assert differences(ring) == []
    ring.says("b2", "new", "x")
    ring.run(2.0)
    assert ring.had("late") == ["x"]


def test_who_takes_the_place_of_one_that_ceases_to_want_a_topic_just_then_still_gets_it() -> None:
    """The root has cut the branch, and who has been at its end does not know it yet when it gives its table away."""
    ring = grown(3)
    topic = next(each for each in TOPICS if ring.broker("b1").ring.plane.member.owns(ring_id(each)))
    ring.wants("b2", "leaver", topic)
    ring.wants("b3", "stayer", topic)
    ring.run(15.0)
    ring.reshape("b3", 1, ring.turned("b2", "b3"))
    while (change := ring.broker("b2").reshaping.change) is None or change.done is not Step.OVERLAY:
        ring.run(0.0005)
    ring.network.cut("b1", "b2")
    ring.network.cut("b1", "b3")  # so the manager waits until the root has heard of it
    ring.detach("b2", "leaver")
    for other in ("b3", "b2"):
        ring.run(0.3)
        ring.network.heal(("b1", other))
    for number in range(30):
        ring.says("b1", topic, str(number))
        ring.run(0.1)
    ring.run(20.0)
    assert ring.versions() != {1}
    assert ring.had("stayer") == [str(number) for number in range(30)]
    assert differences(ring) == []


def _begun(ring: Ring) -> None:
    """b3 manages a change that all have begun; b4 is not heard any more."""
    ring.reshape("b3", 1, ring.turned("b2", "b3"))
    while any(ring.broker(name).reshaping.change is None for name in ring.nodes):
        ring.run(0.0005)
    ring.network.cut("b4", "b3")
    ring.come("b5", "b1")
    ring.wants("b5", "new", "t")


def test_who_comes_during_a_change_is_let_in_when_it_is_over_and_loses_nothing_from_then_on() -> None:
    """It has no place in the new version: so nobody there would know what it wants."""
    ring = grown(4)
    _begun(ring)
    shown: int | None = None
    for number in range(120):
        if number == 10:
            ring.network.heal()
        if shown is None and ring.broker("b5").ring.shows("t"):
            shown = number
        ring.says("b1", "t", str(number))
        ring.run(0.1)
    ring.run(20.0)
    (version,) = ring.versions()
    assert version > 1
    assert shown is not None
    assert set(map(str, range(shown, 120))) <= set(ring.had("new"))
    assert differences(ring) == []


def test_until_then_it_does_not_take_itself_for_the_only_one() -> None:
    """Or what is published there would reach nobody else."""
    ring = grown(4, lease_s=60.0, step_s_max=60.0)
    ring.wants("b2", "old", "t")
    ring.run(5.0)
    ring.broker("b3").manager.lost = lambda peer: None  # type: ignore[method-assign]
    _begun(ring)
    ring.says("b5", "t", "x")
    ring.run(RingOptions().alone_s + RingOptions().handover_s + 5.0)
    assert ring.broker("b1").reshaping.change is not None
    ring.network.heal()
    ring.run(40.0)
    assert ring.had("old") == ["x"]


def test_or_when_it_is_let_go() -> None:
    ring = grown(4)
    _begun(ring)
    ring.run(1.0)
    assert not ring.broker("b5").ring.shows("t")
    ring.lose("b3")
    ring.run(40.0)
    assert ring.versions() == {1}
    assert ring.broker("b5").ring.shows("t")
    assert differences(ring) == []


@pytest.mark.parametrize("victim", ["b2", "b3"])
@pytest.mark.parametrize("after_s", [0.01, 0.03, 0.3, 0.55, 0.58, 0.6, 0.62])
def test_whoever_dies_there_is_one_version_in_the_end(victim: str, after_s: float) -> None:
    """The manager is b2."""
    ring = busy(4)
    ring.reshape("b2", 1, ring.turned("b1", "b2", "b3", "b4"))
    ring.run(after_s)
    ring.crash(victim)
    talk(ring, 10)
    ring.start(victim)
    ring.run(50.0)
    assert len(ring.versions()) == 1
    assert differences(ring) == []
    assert [name for name in ("c1", "c4") if len(ring.had(name)) != 5] == []


def test_after_a_manager_that_has_died_another_one_takes_over() -> None:
    ring = busy(4)
    places = ring.turned("b1", "b3")
    ring.reshape("b2", 1, places)
    ring.run(0.03)
    ring.crash("b2")
    asked = ring.reshape("b4", 1, places)
    ring.run(1.0)
    assert "b2 is changing the network to version" in ring.replies[asked]
    ring.start("b2")
    ring.run(30.0)
    assert ring.versions() == {1}
    asked = ring.reshape("b4", 1, ring.turned("b1", "b3"))
    ring.run(30.0)
    assert ring.replies[asked] == ""
    assert len(ring.versions()) == 1
    assert ring.versions() != {1}
    assert differences(ring) == []


def test_who_is_told_the_places_of_a_version_that_it_has_switches_and_does_not_begin_anew() -> None:
    """They may come before the manager's last word does, from whoever has heard that."""
    ring = busy(4)
    ring.reshape("b3", 1, ring.turned("b2", "b3"))
    late = ring.broker("b2")
    while (change := late.reshaping.change) is None or change.done is not Step.PUBSUB:
        ring.run(0.0005)
    late.turn.now, late.turn.effects = ring.kernel.now, []
    late.reshaping.receive("b4", Places(change.version, list(change.places.values())))
    assert (late.ring.counts, sorted(late.ring.planes)) == (change.version, [1, change.version])
    talk(ring, 20)
    ring.run(20.0)
    assert ring.count(Kind.LINK_LOST) == 0
    assert len(ring.had("c2")) == len(ring.had("c4")) == 10


def test_a_change_without_faults_costs_no_link() -> None:
    ring = busy(9)
    for movers in (("b1", "b5"), ("b2", "b9", "b4"), tuple(ring.nodes)):
        counts = ring.broker("b1").ring.counts
        asked = ring.reshape("b2", counts, ring.turned(*movers))
        ring.run(20.0)
        assert ring.replies[asked] == ""
    assert ring.count(Kind.LINK_LOST) == 0
    assert differences(ring) == []


def test_a_change_takes_no_more_words_than_equation_7_says() -> None:
    """But for its first term, which has a constant: four steps, each said and answered."""
    ring, topics, brokers = grown(10), [f"t{number}" for number in range(60)], 10
    for number in range(1, brokers + 1):
        ring.wants(f"b{number}", f"c{number}", *(topics * 2)[5 * number : 5 * number + 12])
    ring.run(20.0)
    said = Counter[str]()

    def hear(sender: str, receiver: str, frame: bytes) -> None:
        words = [each.word if isinstance(each, Ringed) else each for each in getattr(decode(frame), "messages", ())]
        said.update(type(word).__name__ for word in words)

    ring.sent = hear
    asked = ring.reshape("b2", 1, ring.turned("b1", "b2"))
    while asked not in ring.replies:
        ring.run(0.01)
    assert ring.replies[asked] == ""
    total = sum(said[each] for each in ("Stage", "Staged", "Seats", "Dismiss", "Places", "Wanted", "Branch", "Hand"))
    assert 0 < total <= 7 * brokers + change_cost(brokers, len(topics), 2)


def test_a_broker_that_was_away_when_all_switched_catches_up() -> None:
    ring = busy(4)
    place = {name: ring.broker(name).ring.me for name in ring.nodes}
    ring.crash("b4")
    ring.run(8.0)
    asked = ring.reshape("b1", 1, ring.turned("b1", "b2"))
    ring.run(12.0)
    assert ring.replies[asked] == ""
    ring.start("b4")
    ring.run(40.0)
    assert len(ring.versions()) == 1
    assert ring.broker("b4").ring.me == place["b4"]
    assert differences(ring) == []
    assert any("caught up" in record.detail for record in ring.records if record.kind is Kind.CHANGE)


def test_places_that_cannot_be() -> None:
    assert fault_of([((1, "a", ""), 1), ((2, "b", ""), 2)]) == ""
    assert fault_of([((1, "a", ""), 1), ((1, "b", ""), 2)]) == "a and b are both to be at the ring id 1"
    assert fault_of([((1, "a", ""), 1), ((2, "a", ""), 2)]) == "a is placed twice"
