"""Which connection belongs to which link: greetings, refusals, adoptions, and callers that say nothing."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.io import (
    Accepted,
    AddLink,
    Close,
    Dial,
    DialFailed,
    Dialled,
    Lost,
    Received,
    Remember,
    RemoveLink,
    Send,
)
from reknit.core.links.options import LinkOptions
from reknit.trace.records import Kind
from reknit.wire.codec import VERSION, decode, encode
from reknit.wire.messages import Ack, Data, Farewell, Frame, Hello, Leave, Refuse, Snapshot
from tests.core.desk import Desk, FarEnd, pattern


def _refusal(far: FarEnd) -> Refuse:
    assert far.closed is not None
    return next(frame for frame in far.frames() if isinstance(frame, Refuse))


def test_a_neighbour_is_greeted_and_a_session_begins() -> None:
    desk = Desk("n")
    far = desk.far_end("n", 1)
    hello = far.greet()
    assert hello is not None
    assert (hello.name, hello.address, hello.linked, hello.received) == ("b", "b:1", True, 0)
    assert hello.session != 0
    assert [record.peer for record in desk.records(Kind.LINK_UP)] == ["n"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": VERSION - 1}, f"speaks version {VERSION - 1}, not {VERSION}"),
        ({"version": VERSION + 1}, f"speaks version {VERSION + 1}, not {VERSION}"),
        ({"dialect": "flooding"}, "routes by flooding, not by subscription-forwarding"),
        ({"name": "b"}, "b is this broker's own name"),
        ({"name": ""}, "without a name"),
        ({"name": "x", "linked": False}, "b and x are no neighbours"),
    ],
)
def test_a_caller_that_cannot_be_a_neighbour_hears_why(fields: dict[str, object], reason: str) -> None:
    desk = Desk("n")
    far = desk.far_end("n", 1)
    assert far.greet(**fields) is None
    refusal = _refusal(far)
    assert reason in refusal.reason
    assert not refusal.retry
    assert refusal.stranger == (fields.get("name") == "x")
    assert list(desk.broker.table()["neighbours"]) == ["n"]


def test_a_caller_that_holds_us_for_its_neighbour_is_adopted_and_remembered() -> None:
    desk = Desk()
    far = desk.far_end("n", 1)
    assert far.greet() is not None
    assert desk.all(Remember)[-1].neighbours == {"n": ""}
    assert far.heard() == [Snapshot([], last=True)]


def test_the_address_of_a_caller_is_remembered() -> None:
    desk = Desk()
    desk.far_end("n", 1).greet(address="host:9")
    desk.far_end("m", 2).greet()
    assert desk.all(Remember)[-1].neighbours == {"n": "host:9", "m": ""}


def test_a_neighbour_that_was_left_is_not_adopted_again() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.give(RemoveLink("n", 1))
    far.say(Leave())
    far.ack()
    assert desk.broker.table()["neighbours"] == {}
    again = desk.far_end("n", 2)
    assert again.greet() is None
    assert _refusal(again).stranger


def test_one_of_a_swap_that_asks_to_be_joined_is_out_of_it_and_is_no_neighbour_by_that() -> None:
    """A join needs a search. But the goal that dials anew does so for the swap, in the name of the one it calls."""
    desk = Desk("n")
    desk.broker.links.binds = lambda peer: peer == "n"
    for_the_swap = desk.far_end("n", 1)
    assert for_the_swap.greet(linked=False, wave=("b", 5)) is not None
    asks = desk.far_end("n", 2)
    assert asks.greet(linked=False, wave=("n", 5)) is None
    assert _refusal(asks).retry


def test_there_is_a_bound_on_neighbours() -> None:
    desk = Desk("n", links=LinkOptions(neighbours_max=3))
    ends = [desk.far_end(f"n{number}", number) for number in range(1, 5)]
    answers = [far.greet() for far in ends]
    assert [answer is not None for answer in answers] == [True, True, False, False]
    assert _refusal(ends[3]).retry
    assert len(desk.broker.table()["neighbours"]) == 3
    assert desk.far_end("n", 9).greet() is not None  # one that is a neighbour already has its place


@pytest.mark.parametrize("frame", [Data(1, 1, 0, 0, []), Ack(1, 1, 1), Farewell("bye")])
def test_nothing_counts_before_a_greeting(frame: Frame) -> None:
    desk = Desk("n")
    far = desk.far_end("n", 1)
    far.send(frame)
    assert far.closed == f"a {type(frame).__name__} before a greeting"


@pytest.mark.parametrize(("retransmit_s", "asks"), [(0.1, 4), (0.0, 1)])
def test_on_datagrams_whoever_asks_for_a_link_repeats_it_until_there_is_an_answer(
    retransmit_s: float, asks: int
) -> None:
    desk = Desk(links=LinkOptions(retransmit_s=retransmit_s))
    desk.give(AddLink("x", "x:1", 1))
    desk.run(0.0)
    desk.give(Dialled("x", 3))
    desk.run(0.35)
    said = [decode(each.frame) for each in desk.all(Send) if each.conn == 3]
    assert len(said) == asks
    assert all(frame == said[0] and isinstance(frame, Hello) and frame.wave is not None for frame in said)
    answer = Hello(VERSION, "subscription-forwarding", "x", "", 1, 5, 0, True, None)
    desk.give(Received(3, encode(answer)))
    desk.run(0.35)
    hellos = [frame for each in desk.all(Send) if isinstance(frame := decode(each.frame), Hello)]
    assert len(hellos) == asks
    assert list(desk.broker.table()["neighbours"]) == ["x"]


def test_on_datagrams_data_may_overtake_the_greeting() -> None:
    desk = Desk("n", links=LinkOptions(retransmit_s=0.1))
    far = desk.far_end("n", 1)
    far.send(Data(1, 1, 0, 0, []))
    assert far.closed is None
    assert far.greet() is not None


def test_on_datagrams_a_greeting_may_come_twice() -> None:
    desk = Desk("n", links=LinkOptions(retransmit_s=0.1))
    far = desk.far_end("n", 1)
    same = far.hello()
    first = far.greet()
    far.forget()
    far.send(same)
    hellos = [frame for frame in far.frames() if isinstance(frame, Hello)]
    assert [hello.session for hello in hellos] == [first.session if first else 0]
    assert far.closed is None


def test_who_says_nothing_is_closed_and_forgotten() -> None:
    desk = Desk("n", links=LinkOptions(greeting_s_max=3.0))
    silent = [desk.far_end("?", conn) for conn in range(1, 6)]
    desk.run(2.9)
    assert [far.closed for far in silent] == [None] * 5
    desk.run(0.2)
    assert [far.closed for far in silent] == ["no greeting"] * 5
    silent[0].greet(name="n")
    assert silent[0].frames() == []  # the connection is gone


def test_malformed_frames_are_counted_and_end_the_connection_only() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1)
    desk.give(Received(1, b"\xff\x00"))
    assert far.closed is not None
    assert far.closed.startswith("malformed frame")
    assert desk.broker.table()["malformed_frames"] == 1
    far.redial(2)
    assert far.greet() is not None


def test_what_comes_on_an_unknown_connection_is_not_heard() -> None:
    desk = Desk("n")
    assert desk.give(Received(99, b"\x00")) == []
    assert desk.give(Lost(99, "reset")) == []


# --- dialling


def _dials() -> Desk:
    """The broker ``b`` knows where ``a`` is; of the two, b dials first."""
    desk = Desk(dials={"a": "a:1"})
    desk.run(0.1)
    assert desk.all(Dial) == [Dial("a", "a:1")]
    return desk


def test_the_one_that_dials_greets_first() -> None:
    desk = _dials()
    desk.give(Dialled("a", 5))
    [send] = desk.all(Send)
    hello = decode(send.frame)
    assert send.conn == 5
    assert isinstance(hello, Hello)
    assert (hello.name, hello.session, hello.linked, hello.wave) == ("b", 0, True, None)


def test_somebody_else_answers() -> None:
    desk = _dials()
    desk.give(Dialled("a", 5))
    answer = Hello(VERSION, "subscription-forwarding", "z", "", 1, 77, 0, True, None)
    desk.give(Received(5, encode(answer)))
    assert desk.all(Close) == [Close(5, "a was dialled, z answers")]
    desk.run(1.0)
    assert len(desk.all(Dial)) == 2


@pytest.mark.parametrize("fields", [{"version": 9}, {"dialect": "flooding"}, {"name": ""}])
def test_one_that_answers_what_cannot_be_is_turned_away_and_dialled_again(fields: dict[str, object]) -> None:
    desk = _dials()
    desk.give(Dialled("a", 5))
    answer = Hello(VERSION, "subscription-forwarding", "a", "", 1, 77, 0, True, None)
    desk.give(Received(5, encode(msgspec.structs.replace(answer, **fields))))
    assert [each.conn for each in desk.all(Close)] == [5]
    desk.run(1.0)
    assert len(desk.all(Dial)) == 2
    assert list(desk.broker.table()["neighbours"]) == ["a"]


def test_the_lesser_name_waits_before_it_dials() -> None:
    desk = Desk(dials={"z": "z:1"}, links=LinkOptions(greeting_s_max=3.0))
    desk.run(2.9)
    assert desk.all(Dial) == []
    desk.run(0.2)
    assert desk.all(Dial) == [Dial("z", "z:1")]


def test_a_dial_that_nobody_answers_is_made_again() -> None:
    desk = _dials()
    desk.run(LinkOptions().dial_answer_s_max + 0.1)
    assert len(desk.all(Dial)) == 2


@pytest.mark.parametrize(("name", "theirs_is_taken"), [("a", False), ("c", True)])
def test_if_both_have_dialled_the_greater_name_goes_on(name: str, theirs_is_taken: bool) -> None:
    desk = Desk(dials={name: "there"})
    desk.run(4.0)
    desk.give(Dialled(name, 1))
    far = desk.far_end(name, 2)
    far.greet()
    if theirs_is_taken:
        assert far.closed is None
        assert [each.conn for each in desk.all(Close)] == [1]
    else:
        assert _refusal(far).retry
        assert [each.conn for each in desk.all(Close)] == [2]


def test_a_dial_that_succeeds_too_late_is_not_needed() -> None:
    desk = _dials()
    desk.linked("a", 1)
    desk.give(Dialled("a", 5))
    assert desk.all(Close) == [Close(5, "not needed any more")]


def test_a_failed_dial_is_tried_again() -> None:
    desk = _dials()
    desk.give(DialFailed("a", "nobody there"))
    desk.run(0.2)
    assert len(desk.all(Dial)) == 2


def test_a_neighbour_that_does_not_hold_us_for_one_is_believed() -> None:
    desk = _dials()
    desk.give(Dialled("a", 5))
    desk.client("ann", pattern("a"))
    desk.give(Received(5, encode(Refuse("a and b are no neighbours", retry=False, stranger=True))))
    assert desk.broker.table()["neighbours"] == {}
    assert [record.detail for record in desk.records(Kind.LINK_REMOVED)] == ["a and b are no neighbours"]
    assert desk.all(Remember)[-1].neighbours == {}


def test_a_refusal_for_now_keeps_the_link() -> None:
    desk = _dials()
    desk.give(Dialled("a", 5))
    desk.give(Received(5, encode(Refuse("both ends have dialled", retry=True, stranger=False))))
    assert list(desk.broker.table()["neighbours"]) == ["a"]
    desk.run(1.0)
    assert len(desk.all(Dial)) == 2


def test_an_accepted_connection_that_is_lost_before_a_greeting_leaves_nothing() -> None:
    desk = Desk()
    desk.give(Accepted(1))
    desk.give(Lost(1, "reset"))
    assert desk.broker.deadline() is None


def test_silence_ends_though_a_neighbour_is_away() -> None:
    desk = Desk("z", gate_s_max=1.0, links=LinkOptions(greeting_s_max=3.0))
    desk.run(2.0)
    silent = desk.far_end("?", 1)
    desk.run(3.5)
    assert silent.closed == "no greeting"


def test_a_connection_that_is_cut_at_once_again_and_again_is_dialled_ever_more_slowly() -> None:
    desk = Desk(name="z", dials={"n": "n:1"}, links=LinkOptions(dial_s_min=0.1, dial_s_max=5.0))
    dialled: list[float] = []
    for conn in range(1, 7):
        desk.run(10.0)
        desk.give(Dialled("n", conn))
        desk.give(Received(conn, encode(_greeting_of("n"))))
        dialled.append(desk.now)
        desk.give(Lost(conn, "reset"))
        at = desk.broker.deadline()
        assert at is not None
        dialled[-1] = at - desk.now
    assert dialled == sorted(dialled)
    assert dialled[-1] > 10 * dialled[0]


def _greeting_of(name: str) -> Hello:
    return Hello(VERSION, "subscription-forwarding", name, "n:1", 1, 9, 0, True, None)


def _call(desk: Desk, conn: int) -> Hello:
    """Somebody who is no neighbour, to hear why."""
    desk.broker.links.knock("x", "x:1")
    desk.give(Dialled("x", conn))
    [hello] = [decode(each.frame) for each in desk.all(Send) if each.conn == conn]
    assert isinstance(hello, Hello)
    return hello


def test_who_is_called_to_say_why_it_is_no_neighbour_is_none_if_it_greets() -> None:
    desk = Desk("n")
    hello = _call(desk, 7)
    assert (hello.linked, hello.wave) == (False, None)
    desk.give(Received(7, encode(msgspec.structs.replace(hello, name="x", linked=True))))
    assert [each.conn for each in desk.all(Close)] == [7]
    assert list(desk.broker.table()["neighbours"]) == ["n"]


def test_who_has_become_a_neighbour_since_it_was_called_is_one_on_its_own_connection_only() -> None:
    desk = Desk("n")
    hello = _call(desk, 7)
    far = desk.far_end("x", 8)
    far.greet()
    desk.give(Lost(8, "reset"))
    desk.give(Received(7, encode(msgspec.structs.replace(hello, name="x", session=9, linked=True))))
    assert [each.conn for each in desk.all(Close)] == [7]
    assert not desk.broker.links.of["x"].greeted
    again = desk.far_end("x", 9)
    again.session = far.session
    answer = again.greet()
    assert answer is not None
    assert answer.session == far.session


def test_who_is_called_again_answers_on_the_last_connection_only() -> None:
    desk = Desk("n")
    _call(desk, 7)
    desk.broker.links.knock("x", "x:1")
    assert desk.broker.links.is_open(7) is False
    desk.give(DialFailed("x", "nobody there"))
    desk.give(Dialled("x", 8))
    assert [(each.conn, each.reason) for each in desk.all(Close)][-1] == (8, "not needed any more")


def test_a_neighbour_that_has_left_for_good_is_given_up_unless_it_is_there() -> None:
    desk = Desk("n", "m")
    desk.linked("m", 2)
    _call(desk, 7)
    desk.give(Received(7, encode(Refuse("x has given up b as lost", True, True, ["n", "m", "unknown"]))))
    assert list(desk.broker.table()["neighbours"]) == ["m"]
    assert [(record.peer, record.detail) for record in desk.records(Kind.LINK_LOST)] == [("n", "it has left for good")]
