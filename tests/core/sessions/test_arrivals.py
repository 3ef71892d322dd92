"""Sessions that move in: by hand, ``b`` with its neighbour ``n``, which is being drained, and ``m``, which is not."""

from __future__ import annotations

from reknit.core.io import (
    Attach,
    Deliver,
    DeliverShared,
    Detach,
    Discard,
    Drain,
    DropAside,
    DropMove,
    Import,
    KeepAside,
    KeepMove,
    Recall,
    Reply,
    Reserve,
)
from reknit.core.sessions.options import SessionOptions
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.messages import (
    Draining,
    Events,
    Leave,
    Lines,
    Message,
    Offer,
    Opened,
    Rest,
    Snapshot,
    Sub,
    Taken,
    Told,
    Unsub,
    Welcome,
    Withdraw,
)
from tests.core.desk import Desk, FarEnd, event, pattern

A, B = pattern("a"), pattern("b")
OFFER = Offer("ann", 1, 0, [A], True)


def _open(*first: Message, durable: bool = False, **options: object) -> tuple[Desk, FarEnd, FarEnd]:
    desk = Desk("m", "n", sessions=SessionOptions(**options), durable=durable)  # type: ignore[arg-type]
    m, n = desk.linked("m", 1), desk.linked("n", 2, A)
    n.say(Draining(True))
    assert n.heard()[-1] == Welcome("", "")
    n.forget()
    n.say(*(first or (OFFER,)))
    return desk, m, n


def _delivered(desk: Desk) -> list[str]:
    return [each.event.topic + str(each.event.seq) for each in desk.all(Deliver)]


def test_a_session_is_open_when_its_patterns_are_entered_and_its_old_broker_hears_that_behind_all_else() -> None:
    desk, m, n = _open(Events([event("a", 1, "n.1")]), OFFER)
    assert desk.all(Reserve) == [Reserve("ann")]
    assert n.heard() == [Sub([A]), Opened("ann", 1, "", False)]
    assert [each for each in m.heard() if isinstance(each, Sub)] == []  # it was told before, as n wanted it already


def test_the_rest_comes_before_what_was_held_and_each_event_has_one_owner() -> None:
    desk, m, n = _open()
    m.say(Events([event("a", 1, "m.1")]))
    n.say(Events([event("a", 1, "n.1")]))  # in the rest, or delivered there
    n.say(Rest("ann", 1, b"", False), Events([event("a", 2, "n.1")]))
    m.say(Events([event("a", 2, "m.1")]))
    assert _delivered(desk) == []
    n.say(Rest("ann", 1, b"st", False), Rest("ann", 1, b"ate", True))
    assert desk.all(Import) == [Import("ann", b"state")]
    assert [each.event.id for each in desk.all(Deliver)] == [("m.1", 1), ("n.1", 2), ("m.1", 2)]
    assert desk.effects.index(Import("ann", b"state")) < desk.effects.index(desk.all(Deliver)[0])
    assert n.heard()[-1] == Taken("ann", 1)
    m.say(Events([event("a", 3, "m.1")]))
    assert len(desk.all(Deliver)) == 4
    assert [record.peer for record in desk.records(Kind.MOVED_IN)] == ["n"]


def test_a_session_that_is_withdrawn_leaves_nothing_behind() -> None:
    for here in (False, True):
        desk, m, n = _open()
        if here:
            n.say(Rest("ann", 1, b"", True))
        m.forget()
        n.say(Withdraw("ann", 1))
        assert desk.all(Discard) == [Discard("ann")]
        assert desk.broker.table()["clients"] == []
        n.say(Unsub([A]))
        assert m.heard() == [Unsub([A])]
        assert desk.broker.sessions.at_rest


def test_a_session_whose_client_was_told_is_a_session_like_any_other() -> None:
    for said in ("told", "attached"):
        desk, _, n = _open()
        n.say(Rest("ann", 1, b"", True))
        if said == "told":
            n.say(Told("ann", 1))
        else:
            desk.give(Attach("ann"))
        n.say(Withdraw("ann", 1))
        n.say(Leave())
        assert desk.all(Discard) == []
        assert desk.broker.table()["clients"] == ["ann"]
        assert not desk.broker.sessions.busy


def test_a_neighbour_that_dies_takes_along_what_has_not_arrived_and_nothing_else() -> None:
    desk, _, n = _open()
    n.say(Offer("bob", 2, 0, [B], True), Rest("bob", 2, b"", True))
    n.redial(5)
    n.session, n.seq, n.got = 0, 0, 0
    n.greet(incarnation=2)
    assert desk.all(Discard) == [Discard("ann")]
    assert desk.broker.table()["clients"] == ["bob"]


def test_one_that_was_not_fetched_makes_room_for_the_same_client_again() -> None:
    desk, _, n = _open()
    n.say(Rest("ann", 1, b"", True))
    n.say(Offer("ann", 2, 0, [B], True))
    assert desk.all(Discard) == [Discard("ann")]
    assert n.heard()[-1] == Opened("ann", 2, "", False)
    assert [entry["topic"] for entry in desk.broker.table()["entries"] if entry["hop"] == "ann"] == ["b"]


def test_a_client_that_has_a_session_here_is_not_taken_over() -> None:
    desk = Desk("n")
    n = desk.linked("n", 2)
    desk.client("ann", A)
    n.say(Draining(True), OFFER)
    assert n.heard()[-1] == Welcome("", "")  # who may come is said at the end of the turn
    n.say(OFFER)
    assert n.heard()[-1] == Opened(
        "ann", 1, "b has a session of ann, too; let it connect with a clean start, and try again", False
    )


def test_only_so_many_are_taken_and_only_so_large() -> None:
    _, _, n = _open(Offer("ann", 1, 0, [A], True), Offer("bob", 2, 0, [A], True), sessions_max=1)
    assert n.heard()[-1] == Opened("bob", 2, "b has 1 sessions, and takes no more", False)
    desk, _, n = _open(state_bytes_max=3)
    n.say(Rest("ann", 1, b"four", False))
    assert n.heard()[-1] == Opened("ann", 1, "the session of ann is larger than 3 bytes", False)
    assert desk.all(Discard) == [Discard("ann")]


def test_what_comes_too_late_is_sent_back() -> None:
    desk, _, n = _open(lease_s=1.0)
    for _ in range(12):
        desk.run(0.1)
        n.ack()
    assert desk.all(Discard) == [Discard("ann")]
    n.forget()
    n.say(Rest("ann", 1, b"", True))
    assert n.heard() == [Opened("ann", 1, "it took too long", True)]


def test_more_events_than_may_wait_send_it_back() -> None:
    desk, m, n = _open(held_events_max=1)
    m.say(Events([event("a", 1, "m.1"), event("a", 2, "m.1")]))
    assert n.heard()[-2] == Opened("ann", 1, "it took too long", True)
    assert desk.all(Discard) == [Discard("ann")]


def test_a_session_that_ends_before_it_is_here() -> None:
    desk, _, n = _open()
    desk.give(Detach("ann"))
    n.say(Rest("ann", 1, b"", True))
    assert n.heard()[-1] == Opened("ann", 1, "it took too long", True)
    assert desk.all(Import) == []


def test_parts_of_an_offer_that_was_refused_open_nothing() -> None:
    desk, _, n = _open(Offer("ann", 1, 0, [A], False), Withdraw("ann", 1), Offer("ann", 1, 1, [B], True))
    assert desk.all(Reserve) == []
    assert n.heard() == []


def test_nobody_who_was_not_welcomed_brings_sessions() -> None:
    desk = Desk("n")
    n = desk.linked("n", 2)
    n.say(OFFER)
    assert desk.all(Reserve) == []


def test_a_broker_that_takes_sessions_over_is_not_drained_itself_until_the_other_has_left_or_stays() -> None:
    desk = Desk("n")
    n = desk.linked("n", 2)
    n.say(Draining(True))
    desk.give(Drain(1))
    assert desk.all(Reply) == [Reply(1, "n is being drained into b")]
    n.say(Draining(False))
    desk.give(Drain(2))
    assert n.heard()[-1] == Draining(True)


def test_what_a_session_had_before_it_moved_is_a_copy_for_it_alone() -> None:
    """A broker in between has died, and what it had not settled comes again, by way of its next life."""
    desk = Desk("m", "n")
    m, n = desk.linked("m", 1), desk.linked("n", 2, A)
    desk.client("bob", A)
    n.say(Draining(True))
    n.say(Offer("ann", 1, 0, [A], True))
    m.say(Events([event("a", 5, "x.1")]))  # before it is known what she has had
    n.say(Rest("ann", 1, b"", False, {"x.1": 5, "y.1": 2}), Rest("ann", 1, b"", True))
    m.say(Events([event("a", 2, "y.1"), event("a", 6, "x.1"), event("a", 3, "y.1")]))
    got = {"ann": [], "bob": []}  # type: dict[str, list[tuple[str, int]]]
    for each in desk.all(Deliver):
        for client, _ in each.matches:
            got[client].append(each.event.id)
    assert got == {
        "ann": [("x.1", 6), ("y.1", 3)],
        "bob": [("x.1", 5), ("y.1", 2), ("x.1", 6), ("y.1", 3)],
    }


CAME = KeepMove("ann", "n", 1, came=True)


def test_with_a_store_it_is_kept_that_a_session_may_be_taken_back_until_that_is_known() -> None:
    desk, _, n = _open(durable=True)
    n.say(Rest("ann", 1, b"state", True))
    assert (desk.all(KeepMove), desk.all(DropMove)) == ([CAME], [])
    n.say(Told("ann", 1))
    assert desk.all(DropMove) == [DropMove("ann")]


def _returned() -> tuple[Desk, FarEnd]:
    """The next life; an event for a group waits for ann."""
    desk = Desk("n", durable=True)
    aside = KeepAside("ann", 2, Event("a", qos=1, source="m.1", seq=1), (A,), "group")
    desk.give(Recall({"ann": (A,)}, {}, (), (), shares={"ann": [("group", A)]}, asides=[aside], moves=[CAME]))
    return desk, desk.linked("n", 1)


def test_the_next_life_hears_that_a_session_is_its_own() -> None:
    desk, n = _returned()
    assert desk.all(DeliverShared) == []
    n.say(Told("ann", 1))
    assert [each.client for each in desk.all(DeliverShared)] == ["ann"]
    assert (desk.all(DropAside), desk.all(DropMove)) == ([DropAside("ann", (2,))], [DropMove("ann")])


def test_the_next_life_gives_back_what_is_taken_back() -> None:
    desk, n = _returned()
    n.say(Withdraw("ann", 1))
    assert desk.all(Discard) == [Discard("ann")]
    assert desk.all(DeliverShared) == []
    assert (desk.all(DropAside), desk.all(DropMove)) == ([DropAside("ann", (2,))], [DropMove("ann")])


def test_the_next_life_takes_the_same_session_anew() -> None:
    desk, n = _returned()
    n.say(Draining(True))
    n.say(Offer("ann", 2, 0, [A], True))
    assert desk.all(Discard) == [Discard("ann")]
    assert n.heard()[-1] == Opened("ann", 2, "", False)


def test_a_session_that_its_old_broker_does_not_have_in_its_next_life_is_ours() -> None:
    desk, n = _returned()
    n.redial(5)
    n.session, n.seq, n.got = 0, 0, 0
    n.greet(incarnation=2)
    n.say(Snapshot([], last=True))
    assert desk.all(DeliverShared) == []
    n.say(Lines([]))
    assert [each.client for each in desk.all(DeliverShared)] == ["ann"]
    assert desk.all(DropMove) == [DropMove("ann")]
