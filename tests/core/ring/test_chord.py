"""Chord: the ring is right when all is quiet, whoever has come, gone or died."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from reknit.core.ring.chord import Chord
from reknit.core.ring.options import RingOptions
from reknit.wire.ring import Find, Found, Notify, Poll, SameId, Spot, State
from tests.core.ring.world import World

QUIET_S = 40.0


def grown(seed: int, count: int, bits: int = 64) -> World:
    world = World(seed, bits=bits)
    names = [f"b{number}" for number in range(count)]
    world.start(names[0])
    for number, name in enumerate(names[1:], 1):
        world.start(name, world.rng.sample(names[:number], min(number, 3)))
        world.run(world.rng.choice((0.0, 0.0, 0.3, 2.0)))
    return world


@pytest.mark.parametrize("seed", range(6))
def test_brokers_that_join_form_the_ring_of_their_ids(seed: int) -> None:
    world = grown(seed, random.Random(seed).randint(1, 14))
    world.run(QUIET_S)
    assert world.ring_faults() == []


@pytest.mark.parametrize("seed", range(6))
def test_the_ring_closes_around_those_that_leave_or_die(seed: int) -> None:
    world = grown(seed, 12)
    world.run(QUIET_S)
    for _ in range(5):
        name = world.rng.choice(sorted(world.lives))
        (world.leave if world.rng.random() < 0.5 else world.crash)(name)
        world.run(world.rng.choice((0.2, 3.0)))
    world.run(QUIET_S)
    assert world.ring_faults() == []


def test_who_comes_back_under_its_old_id_is_taken_in_again() -> None:
    world = grown(3, 6)
    world.run(QUIET_S)
    world.crash("b2")
    world.run(0.5)
    world.start("b2", ["b0", "b4"])
    world.run(QUIET_S)
    assert world.ring_faults() == []


def test_two_rings_that_have_a_contact_in_common_become_one() -> None:
    world = World(1)
    for one, contacts in (("b0", []), ("b1", ["b0"]), ("b2", []), ("b3", ["b2"])):
        world.start(one, contacts)
    world.run(QUIET_S)
    assert world.ring_faults() != []
    world.start("b4", ["b0", "b2"])
    world.run(2 * QUIET_S)
    assert world.ring_faults() == []


def test_a_ring_that_leads_round_twice_becomes_one_though_somebody_was_known_once_who_is_gone() -> None:
    world = grown(1, 5)
    world.run(QUIET_S)
    chords = sorted((life.member.chord for life in world.lives.values()), key=lambda chord: chord.me[0])
    for place, chord in enumerate(chords):
        chord.behind = [chords[(place + steps) % 5].me for steps in (2, 4, 1, 3)]
        chord.before = chords[(place + 3) % 5].me
        chord.fingers = {}
        chord.contacts = [world.spot("gone")]
    world.forget_what_is_said()
    assert world.ring_faults() != []
    world.run(2 * QUIET_S)
    assert world.ring_faults() == []


def test_two_brokers_with_one_id_the_second_is_refused_with_the_reason() -> None:
    world = grown(2, 4)
    world.run(QUIET_S)
    world.ids["twin"] = world.spot("b2")[0]
    twin = world.start("twin", ["b0"])
    world.run(5.0)
    assert twin.chord.refused == f"b2 has the ring id {world.spot('b2')[0]} already"
    assert twin.deadline() is None or twin.chord.deadline() is None
    del world.lives["twin"]
    world.run(QUIET_S)
    assert world.ring_faults() == []


# --- one broker, word by word

ME: Spot = (10, "me", "")
SENT = list[tuple[str, object]]


def alone(contacts: tuple[Spot, ...] = ()) -> tuple[Chord, SENT]:
    sent: SENT = []
    chord = Chord(
        ME, lambda spot, message: sent.append((spot[1], message)), RingOptions(), random.Random(1), contacts, 6
    )
    return chord, sent


def test_the_first_one_owns_every_key() -> None:
    chord, _ = alone()
    assert chord.alone
    assert chord.owns(10)
    assert chord.owns(63)
    assert chord.way_to(5) is None


def test_a_question_goes_to_the_farthest_known_before_the_key() -> None:
    chord, sent = alone()
    for spot in ((20, "b20", ""), (30, "b30", ""), (50, "b50", "")):
        chord.received(Found(0, -1, spot)) if not chord.behind else chord.received(Found(0, spot[0] % 6, spot))
    asker: Spot = (1, "b1", "")
    sent.clear()
    chord.received(Find(49, asker, 3))
    chord.received(Find(15, asker, 3))
    assert sent == [("b30", Find(49, asker, 3, 1)), ("b1", Found(15, 3, (20, "b20", "")))]


def test_a_question_that_has_gone_round_too_often_is_dropped() -> None:
    chord, sent = alone()
    chord.received(Found(0, -1, (20, "b20", "")))
    sent.clear()
    chord.received(Find(49, (1, "b1", ""), 3, RingOptions().hops_max + 1))
    assert sent == []


def test_who_joins_asks_its_successor_at_once_and_is_where_it_belongs_when_that_one_has_it_before_it() -> None:
    chord, sent = alone(((20, "b20", ""),))
    assert chord.astray() == "not on a ring with b20 yet"
    chord.received(Found(10, -1, (20, "b20", "")))
    assert sent == [("b20", Poll(ME))]
    assert chord.astray() == "its place on the ring is not settled yet"
    chord.received(State((20, "b20", ""), None, []))
    assert sent[1:] == [("b20", Notify(ME))]
    chord.received(State((20, "b20", ""), ME, []))
    assert chord.astray() == "its place on the ring is not settled yet"  # nobody is known to be before it
    chord.received(Notify((20, "b20", "")))
    assert chord.astray() == ""


def test_whoever_has_another_one_before_it_tells_both_and_whoever_knows_others_behind_it_tells_the_one_before() -> None:
    chord, sent = alone()
    chord.received(Notify((40, "b40", "")))
    sent.clear()
    chord.received(Notify((50, "b50", "")))
    said = State(ME, (50, "b50", ""), [(40, "b40", "")])
    assert sent == [("b40", said), ("b50", said)]
    sent.clear()
    chord.received(State((40, "b40", ""), ME, [(50, "b50", "")]))
    assert ("b50", State(ME, (50, "b50", ""), [(40, "b40", ""), (50, "b50", "")])) in sent


def test_one_that_has_found_nobody_goes_on_alone_and_is_astray() -> None:
    chord, _ = alone(((20, "b20", ""),))
    chord.due(0.0)
    chord.due(RingOptions().alone_s)
    assert (chord.alone, chord.astray()) == (True, "not on a ring with b20 yet")
    chord.received(Notify((20, "b20", "")))
    chord.due(RingOptions().alone_s + 1.0)
    chord.received(State((20, "b20", ""), ME, [ME]))
    assert chord.astray() == ""


def test_rounds_are_quick_after_a_change_and_become_slow() -> None:
    chord, _ = alone()
    times = [0.0]
    for _ in range(8):
        chord.due(times[-1])
        times.append(chord.deadline() or math.nan)
    rests = [round(later - earlier, 6) for earlier, later in pairwise(times)]
    assert rests == [0.1, 0.2, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]
    chord.received(Notify((40, "b40", "")))
    assert chord.deadline() == pytest.approx(times[-2] + 0.05)


@pytest.mark.parametrize("seed", range(4))
def test_brokers_that_begin_at_once_are_one_ring_within_two_seconds(seed: int) -> None:
    """A word takes up to 50 ms."""
    world = World(seed)
    names = [f"b{number}" for number in range(12)]
    for number, name in enumerate(names):
        world.start(name, names[: min(number, 2)])
    world.run(2.0)
    assert world.ring_faults() == []
    assert {life.member.astray() for life in world.lives.values()} == {""}


def test_a_successor_that_does_not_answer_is_taken_for_dead() -> None:
    chord, sent = alone(((20, "b20", ""),))
    chord.received(Found(0, -1, (20, "b20", "")))
    chord.due(0.0)
    assert ("b20", Poll(ME)) in sent
    chord.due(9.0)
    assert chord.successor[1] == "b20"
    chord.due(10.1)
    assert chord.successor == ME


def test_who_has_lost_all_others_is_not_alone_at_once() -> None:
    chord, _ = alone(((20, "b20", ""),))
    chord.received(Found(0, -1, (20, "b20", "")))
    chord.lost((20, "b20", ""))
    chord.due(0.0)
    assert not chord.alone
    assert not chord.owns(7)
    chord.due(10.0)
    assert chord.alone
    assert chord.owns(7)


def test_who_asks_for_itself_is_told_of_somebody_else() -> None:
    """It has lost its successor, or has begun anew: that it is the owner of its own id is of no use to it."""
    chord, sent = alone()
    chord.received(Notify((20, "b20", "")))
    chord.received(Find(20, (20, "b20", ""), -1))
    chord.received(Find(21, (20, "b20", ""), -2))
    assert [message for _, message in sent if isinstance(message, Found)] == [Found(20, -1, ME), Found(21, -2, ME)]


def test_one_that_is_never_there_is_not_looked_for_for_ever() -> None:
    chord, _ = alone()
    chord.meet((20, "b20", "b20:1"))
    assert chord.acquainted() == [(20, "b20", "b20:1")]
    for _ in range(5):
        chord.miss("b20")
    assert chord.acquainted() == []


def test_who_is_refused_is_silent() -> None:
    chord, sent = alone(((20, "b20", ""),))
    chord.received(SameId((10, "other", "")))
    chord.due(5.0)
    assert chord.refused == "other has the ring id 10 already"
    assert chord.deadline() is None
    assert sent == []


def test_one_that_was_lost_is_taken_in_again_when_it_answers_and_not_when_others_name_it() -> None:
    chord, sent = alone()
    b20, b30 = (20, "b20", ""), (30, "b30", "")
    chord.received(Found(10, -1, b20))
    chord.received(State(b20, ME, [b30]))
    assert chord.behind == [b20, b30]
    chord.lost(b30)
    chord.received(State(b20, ME, [b30]))
    chord.received(Found(30, 4, b30))
    assert (chord.behind, chord.fingers) == ([b20], {})
    sent.clear()
    chord.due(0.0)
    assert ("b30", Poll(ME)) in sent
    chord.received(State(b30, b20, []))
    chord.received(State(b20, ME, [b30]))
    assert chord.behind == [b20, b30]
