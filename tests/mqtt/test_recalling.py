"""A session of a life before: its times, its will, what is repeated, and entries that nobody has written."""

from __future__ import annotations

from random import Random

import pytest

from reknit.core import io
from reknit.model.event import Event
from reknit.mqtt.door import Door
from reknit.mqtt.keeping import IDENTS, MESSAGES, RECEIVED, SESSIONS, Keeper, KeptSession
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.recalling import SHELVES, BadEntry, Recalled
from reknit.store.memory import MemoryStore
from tests.mqtt.test_keeping import EPOCH, connection, message

OPTIONS = DoorOptions()


def again(store: MemoryStore, now: float, epoch: float = EPOCH) -> KeptSession:
    recalled = Recalled(Keeper(OPTIONS, epoch))
    for entry in store.load():
        recalled.take(*entry)
    (session,) = recalled.sessions(now)
    return session


@pytest.fixture
def keeper() -> Keeper:
    return Keeper(OPTIONS, EPOCH)


def written(keeper: Keeper, session: KeptSession) -> MemoryStore:
    session.changed()
    store = MemoryStore()
    store.commit(keeper.take())
    return store


def test_who_was_connected_is_away_from_now_on(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.expiry_s, session.user = 60, "ada"
    here = connection()
    here.will, here.will_delay_s = Event("will", b"!"), 10
    session.resume(here)
    back = again(written(keeper, session), now=500.0)
    assert (back.user, back.ends_at, back.will_at) == ("ada", 560.0, 510.0)
    assert back.will == Event("will", b"!")
    assert back.connection is None


def test_who_was_away_keeps_its_times_by_the_wall_clock(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.expiry_s, session.ends_at = 60, 100.0
    session.will, session.will_at = Event("will", b"!"), 70.0
    back = again(written(keeper, session), now=5.0, epoch=EPOCH + 50)
    assert (back.ends_at, back.will_at) == (50.0, 20.0)


def test_what_was_in_flight_is_repeated_under_its_identifier_and_numbers_go_on(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.expiry_s = 60
    session.resume(connection())
    first, second, third = (session.send(message(number, 2)) for number in range(3))
    session.release(second)
    session.connection = None
    session.wait(message(3))
    back = again(written(keeper, session), now=0.0)
    back.resume(connection())
    repeated = [back.next_to_send() for _ in range(3)]
    assert [(each[0], each[2]) for each in repeated if each] == [(second, True), (first, True), (third, True)]
    fresh = back.next_to_send()
    assert fresh is not None
    assert (fresh[0], fresh[2], fresh[1].event.payload) == (4, False, b"3")
    assert back._keeper.number() > 4


@pytest.mark.parametrize("shelf", SHELVES)
@pytest.mark.parametrize("rest", [b"", b"\0", b"\0\xff\xff\xff\xff", b"\0\0\0"])
def test_what_no_door_has_written_is_refused(keeper: Keeper, shelf: str, rest: bytes) -> None:
    if shelf in (IDENTS, RECEIVED) and rest == b"\0":
        rest = b"\0\0\0"
    with pytest.raises(BadEntry):
        Recalled(keeper).take(shelf, b"client" + rest, b"\xc1junk")


def test_a_name_that_is_no_text_and_a_pattern_that_is_none_are_refused(keeper: Keeper) -> None:
    with pytest.raises(BadEntry):
        Recalled(keeper).take(MESSAGES, b"\xff\0" + bytes(8), b"")
    with pytest.raises(BadEntry):
        Recalled(keeper).take(SESSIONS, b"c", b"")


def test_a_session_that_is_over_by_now_ends_with_its_will_and_leaves_nothing(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.expiry_s, session.ends_at, session.will_at = 60, 100.0, 90.0
    session.will = Event("will", b"!")
    session.wait(message(1))
    store = written(keeper, session)
    fresh = Keeper(OPTIONS, EPOCH)
    door, recalled = Door(OPTIONS, Random(1), EPOCH, keeper=fresh), Recalled(fresh)
    for entry in store.load():
        recalled.take(*entry)
    commands = door.recall(recalled.sessions(200.0), 200.0)
    assert [type(each) for each in commands] == [io.Publish, io.Detach]
    assert commands[-1] == io.Detach("c")
    assert door.counters.sessions == 0
    store.commit(fresh.take())
    assert len(store) == 0


def test_a_will_that_is_due_at_the_start_is_published_and_the_session_goes_on(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.expiry_s = 60
    here = connection()
    here.will = Event("will", b"!")
    session.resume(here)
    store = written(keeper, session)
    fresh = Keeper(OPTIONS, EPOCH)
    door, recalled = Door(OPTIONS, Random(1), EPOCH, keeper=fresh), Recalled(fresh)
    for entry in store.load():
        recalled.take(*entry)
    assert door.recall(recalled.sessions(200.0), 200.0) == []
    [publish] = door.due(200.0)
    assert isinstance(publish, io.Publish)
    store.commit(fresh.take())
    assert again(store, now=300.0).will is None  # once
