"""What all algorithms share: who is asked, what is given out, and what is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.io import SendDirect
from reknit.core.recovery.gossip import Runs
from reknit.core.recovery.ranges import count
from reknit.wire.codec import DATAGRAM_BYTES_MAX, decode_direct
from reknit.wire.messages import Manner, Misses, Repair
from tests.core.desk import pattern
from tests.core.recovery.round_table import PA, PB, A, RoundTable, numbered


def _full(**more: object) -> RoundTable:
    """A broker whose cache has numbers 1 to 5 of a."""
    table = RoundTable("subscriber-pull", **more)
    for number in range(1, 6):
        table.events(table.n, numbered("a", number, (PA, number)))
    return table


def _ask(
    table: RoundTable, *ranges: tuple[int, int], age_s: float = 100.0, number: int = 7, signature: int = PA
) -> None:
    lost = [("s.1", list(ranges))]
    table.m.say(Misses(table.asker(number=number), Manner.SUBSCRIBERS, signature, age_s, lost, 0))


def test_what_is_kept_here_is_sent_to_the_asker_past_the_tree() -> None:
    table = _full()
    _ask(table, (2, 3), (5, 9))
    assert sorted(table.repairs()) == [("x", 2), ("x", 3), ("x", 5)]
    ((_, repair),) = table.directs()
    assert isinstance(repair, Repair)
    assert (repair.sender, repair.round) == ("b", 7)
    assert (table.figures.repairs, table.figures.repaired) == (1, 3)


def test_nobody_gets_what_is_older_than_its_wish() -> None:
    table = _full()
    table.run(2.0)
    table.events(table.n, numbered("a", 6, (PA, 6)))
    table.run(1.0)
    _ask(table, (1, 6), age_s=1.5)
    assert table.repairs() == [("x", 6)]
    ((_, repair),) = table.directs()
    assert isinstance(repair, Repair)
    assert repair.ages_s == [1.0]


def test_a_round_is_answered_once() -> None:
    table = _full()
    _ask(table, (1, 1))
    _ask(table, (1, 1))
    assert table.repairs() == [("x", 1)]
    assert table.figures.replayed == 1
    _ask(table, (1, 1), number=8)
    assert len(table.repairs()) == 2


def test_what_nobody_wants_where_the_question_comes_from_is_not_given_out() -> None:
    """m has not said that anybody behind it wants a; so whoever asks may not read it."""
    table = RoundTable("subscriber-pull", m=(pattern("other"),))
    for number in range(1, 6):
        table.events(table.n, numbered("a", number, (PA, number), (PB, number)))
    _ask(table, (1, 5))
    _ask(table, (1, 5), signature=PB, number=8)
    assert table.repairs() == []
    assert table.gossip(table.n) == []
    assert table.figures.unentitled == 2


def test_a_digest_that_lies_costs_no_more_than_an_honest_one() -> None:
    table = _full(digest_numbers_max=10)
    _ask(table, (1, 3), (5, 2**62))
    assert table.repairs() == []  # only the newest ten were looked at
    assert table.figures.unheard_of > 2**60
    (passed_on,) = (each for each in table.gossip(table.n) if isinstance(each, Misses))
    assert sum(count(ranges) for _, ranges in passed_on.lost) == 10


def test_an_answer_is_bounded_and_goes_in_small_datagrams() -> None:
    table = RoundTable("subscriber-pull", answer_bytes_max=10_000)
    for number in range(1, 60):
        table.events(table.n, numbered("a", number, (PA, number), payload=bytes(500)))
    _ask(table, (1, 59))
    sent = [said for _, said in table.directs() if isinstance(said, Repair)]
    assert 7_000 < sum(len(each.payload) for said in sent for each in said.events) < 10_000
    assert max(len(said.events) for said in sent) == 2
    events = [each.seq for said in sent for each in said.events]
    assert sorted(events) == list(range(min(events), 60))  # the newest first


def test_an_event_that_is_larger_than_an_answer_comes_alone_if_a_datagram_can_carry_it() -> None:
    table = RoundTable("subscriber-pull", answer_bytes_max=10_000)
    for number, size in ((1, 100), (2, 40_000), (3, 9_000), (4, DATAGRAM_BYTES_MAX - 100), (5, DATAGRAM_BYTES_MAX)):
        table.events(table.n, numbered("a", number, (PA, number), payload=bytes(size)))
    _ask(table, (2, 5))
    assert table.repairs() == [("x", 3)]
    _ask(table, (1, 2), number=8)
    assert table.repairs() == [("x", 3), ("x", 2)]
    _ask(table, (1, 1), (4, 5), number=9)
    assert table.repairs()[2:] == [("x", 1)]


@given(st.integers(DATAGRAM_BYTES_MAX - 500, DATAGRAM_BYTES_MAX))
def test_no_answer_is_longer_than_a_datagram(size: int) -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.n, numbered("a", 1, (PA, 1), payload=bytes(size)))
    _ask(table, (1, 1))
    assert all(len(each.datagram) <= DATAGRAM_BYTES_MAX for each in table.all(SendDirect))


def test_what_is_refused_counts_as_a_part_of_the_answer() -> None:
    """The cache has holes, so that what is not kept any more are many runs."""
    table = RoundTable("subscriber-pull", answer_bytes_max=4000)
    holes: Runs = [(PA, [(number, number) for number in range(2**40, 2**40 + 600, 2)])]
    for number in range(1, 40):
        table.events(table.n, numbered("a", number, (PA, number), payload=bytes(100)))
    talk = table.recovery.talk
    found, _ = talk.take_out(PA, 100.0, [("s.1", [(1, 39)])])
    for refused in ((holes, [], []), ([], holes, holes), (holes * 50, holes, holes)):
        before = len(talk.turn.effects)
        talk.answer(table.asker(), found, *refused)
        sent = [each for each in talk.turn.effects[before:] if isinstance(each, SendDirect)]
        assert 3000 < sum(len(each.datagram) for each in sent) <= 4000
        last = decode_direct(sent[-1].datagram)
        assert isinstance(last, Repair)
        newest = [ranges[-1] for runs in (last.gone, last.old, last.never) for _, ranges in runs]
        assert newest == [holes[0][1][-1]]


def test_what_is_missing_is_named_in_bounded_messages_and_then_rests() -> None:
    table = RoundTable("subscriber-pull", digest_numbers_max=4)
    table.client("ann", A)
    for number in (1, 8):
        table.events(table.n, numbered("a", number, (PA, number)))
    talk = table.recovery.talk
    assert talk.missing(PA, 4) == [("s.1", [(4, 7)])]
    assert talk.missing(PA, 4) == [("s.1", [(2, 3)])]
    assert talk.missing(PA, 4) == []
