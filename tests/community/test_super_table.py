"""The super-topic table: MERGE, CHECK, NEWPROCESS (Figure 6, with the corrections of section 8.2)."""

from __future__ import annotations

from reknit.community.options import SuperOptions, TopicOptions
from reknit.community.super_table import ASKED_TIMES, SuperTable
from reknit.community.turn import Turn
from reknit.wire.peers import More, Ping, Pong, Some
from tests.community.desk import a_turn, spoken

OPTIONS = TopicOptions(z=3, supers=SuperOptions(check_s=10.0, answer_s=1.5))


def a_table(turn: Turn, *addresses: str, options: TopicOptions = OPTIONS) -> SuperTable:
    table = SuperTable("a/b/c", ("a/b", "a", "#"), options, turn)
    table.merge(("a/b", address) for address in addresses)
    table.start()
    return table


def check(table: SuperTable, turn: Turn, alive: tuple[str, ...], p_sel: float = 1.0) -> list[tuple[str, object]]:
    """One whole check, in which these answer; what was said in the end."""
    turn.now = table.deadline()
    table.due(p_sel)
    for _ in range(ASKED_TIMES):
        for to, word in spoken(turn):
            if isinstance(word, Ping) and to in alive:
                assert table.take_pong(to, Pong(word.number, word.topic, member=True))
        turn.now = min(turn.now + 0.5, table.deadline())
        table.due(p_sel)
    return list(spoken(turn))


def test_it_holds_z_members_at_most_never_oneself_and_nobody_twice() -> None:
    table = a_table(a_turn(), "p1", "p1", "me", "p2", "p3", "p4")
    assert len(table.entries) == 3
    assert "me" not in table.entries


def test_members_of_the_parent_are_preferred_to_those_further_up() -> None:
    table = a_table(a_turn())
    table.merge([("#", "r1"), ("a", "s1"), ("#", "r2")])
    assert table.search.is_on()
    table.merge([("a/b", "p1"), ("a", "s2")])
    assert sorted(table.entries.values()) == ["a", "a", "a/b"]
    assert not table.search.is_on()
    table.merge([("#", "r3")])
    assert "r3" not in table.entries


def test_who_turns_out_to_be_nearer_is_there_once_as_that() -> None:
    table = a_table(a_turn())
    table.merge([("a", "p1"), ("a/b", "p1"), ("a", "p1")])
    assert table.entries == {"p1": "a/b"}


def test_a_community_that_is_not_above_is_not_taken() -> None:
    table = a_table(a_turn())
    table.merge([("x", "p1"), ("a/b/c", "p2")])
    assert table.entries == {}


def test_the_dead_are_taken_out_and_too_few_ask_for_others() -> None:
    """Fewer than tau = z - 1 alive: those who are get asked for z - alive others."""
    turn = a_turn()
    table = a_table(turn, "p1", "p2", "p3")
    said = check(table, turn, alive=("p2",))
    assert list(table.entries) == ["p2"]
    ((to, word),) = said
    assert to == "p2"
    assert isinstance(word, More)
    assert (word.topic, word.count) == ("a/b", 2)
    assert table.take_some("p2", Some(word.number, "a/b", ("p2", "p8", "p9", "p7")))
    assert set(table.entries) == {"p2", "p8", "p9"}


def test_tau_of_them_are_enough() -> None:
    turn = a_turn()
    table = a_table(turn, "p1", "p2", "p3")
    assert check(table, turn, alive=("p1", "p2")) == []


def test_one_lost_question_does_not_kill() -> None:
    turn = a_turn()
    table = a_table(turn, "p1")
    turn.now = table.deadline()
    table.due(1.0)
    spoken(turn)  # lost
    turn.now = table.deadline()
    table.due(1.0)
    ((_, ping),) = spoken(turn)
    assert isinstance(ping, Ping)
    assert table.take_pong("p1", Pong(ping.number, "a/b", member=True))
    turn.now = table.deadline()
    table.due(1.0)
    assert list(table.entries) == ["p1"]


def test_with_nobody_alive_the_search_begins_anew() -> None:
    turn = a_turn()
    table = a_table(turn, "p1", "p2", "p3")
    assert not table.search.is_on()
    check(table, turn, alive=())
    assert table.entries == {}
    assert table.search.is_on()


def test_the_dead_do_not_come_back_by_hearsay_for_a_while() -> None:
    turn = a_turn()
    table = a_table(turn, "p1")
    table.fail("p1")
    table.merge([("a/b", "p1")])
    assert table.entries == {}
    turn.now += OPTIONS.supers.failed_s + 1
    table.due(0.0)
    table.merge([("a/b", "p1")])
    assert list(table.entries) == ["p1"]


def test_who_answers_itself_is_not_taken_for_dead_any_longer() -> None:
    """As when the network was in parts, and is whole again."""
    turn = a_turn()
    table = a_table(turn, "p1", "p2")
    for peer in ("p1", "p2"):
        table.fail(peer)
    table.lives("p1")
    table.merge([("a/b", "p1"), ("a/b", "p2")])
    assert list(table.entries) == ["p1"]


def test_who_stood_in_for_an_empty_level_is_replaced_when_it_is_lost() -> None:
    """The search for the empty level is still on; it has to ask for those above it again."""
    turn = a_turn()
    table = a_table(turn)
    for _ in range(3):
        table.search.attempt()
    table.merge([("a", "p1")])
    assert table.search.attempt()[1] == ("a/b",)
    table.fail("p1")
    assert [table.search.attempt()[1] for _ in range(2)] == [("a/b", "a", "#")] * 2


def test_with_one_further_up_left_it_is_asked_for_what_is_nearer() -> None:
    turn = a_turn()
    table = a_table(turn)
    for _ in range(3):
        table.search.attempt()
    table.merge([("#", "p2"), ("a", "p1")])
    table.fail("p1")
    assert [table.search.attempt()[1] for _ in range(2)] == [("a/b", "a")] * 2


def test_who_is_no_member_any_more_goes_at_once() -> None:
    turn = a_turn()
    table = a_table(turn, "p1", "p2")
    turn.now = table.deadline()
    table.due(1.0)
    number = next(word.number for _, word in spoken(turn) if isinstance(word, Ping))
    assert table.take_pong("p1", Pong(number, "a/b", member=False))
    assert list(table.entries) == ["p2"]


def test_a_check_is_made_with_probability_p_sel() -> None:
    """``RAND() < p_sel``, not ``>=`` as printed in Figure 6, line 16."""
    turn = a_turn()
    table = a_table(turn, "p1")
    turn.now = table.deadline()
    table.due(0.0)
    assert spoken(turn) == []


def test_answers_that_nobody_asked_for_are_none() -> None:
    table = a_table(a_turn(), "p1")
    assert not table.take_pong("p1", Pong(99, "a/b", member=False))
    assert not table.take_some("p1", Some(99, "a/b", ("forged",)))
    assert list(table.entries) == ["p1"]


def test_now_and_then_one_takes_the_place_of_another() -> None:
    turn = a_turn()
    table = a_table(turn, "p1", "p2", "p3")
    for number in range(200):
        table.merge([("a/b", f"q{number}")])
    assert len(table.entries) == 3
    assert any(address.startswith("q") for address in table.entries)


def test_a_table_that_was_drawn_replaces_the_one_before_and_an_empty_one_does_not() -> None:
    table = a_table(a_turn(), "p1", "p2", "p3")
    number = table.draw()
    assert table.take_drawn(number, "a/b", ("p2", "me", "p4", "p5", "p6"))
    assert list(table.entries) == ["p2", "p4", "p5"]
    assert table.take_drawn(number, "a/b", ())
    assert list(table.entries) == ["p2", "p4", "p5"]


def test_of_tables_that_were_drawn_only_the_one_that_was_asked_for_counts_and_nobody_dead() -> None:
    table = a_table(a_turn(), "p1")
    table.fail("p1")
    table.merge([("#", "r1")])
    number = table.draw()
    assert not table.take_drawn(number + 1, "a/b", ("f",))
    assert not table.take_drawn(number, "a", ("f",))
    assert table.take_drawn(number, "a/b", ("p1", "p2"))
    assert table.entries == {"p2": "a/b"}
    assert not table.search.is_on()
