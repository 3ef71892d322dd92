"""FIND_SUPER_CONTACT, as section 3.3 of the paper has it and section 8.2 of the errata corrects it."""

from __future__ import annotations

from reknit.community.options import SuperOptions
from reknit.community.search import Search
from reknit.community.turn import Turn
from tests.community.desk import a_turn

LADDER = ("a/b", "a", "#")


def a_search(turn: Turn) -> Search:
    search = Search(LADDER, SuperOptions(search_s=1.0, search_s_max=4.0), turn)
    search.start()
    return search


def test_the_scope_grows_by_one_level_with_each_attempt_up_to_the_root() -> None:
    """The scope of the search is enlarged further by adding ... the super-topic of the previous topic of interest."""
    search = a_search(a_turn())
    assert [search.attempt()[1] for _ in range(4)] == [LADDER[:1], LADDER[:2], LADDER, LADDER]


def test_it_goes_on_at_a_slower_pace_when_all_levels_were_asked_for() -> None:
    turn = a_turn()
    search = a_search(turn)
    waits = []
    for _ in range(8):
        search.attempt()
        waits.append(search.next_at - turn.now)
    assert max(waits[:3]) <= 1.1
    assert 3.6 <= waits[-1] <= 4.4


def test_with_a_member_of_the_parent_it_ends() -> None:
    search = a_search(a_turn())
    search.attempt()
    search.found("a/b")
    assert not search.is_on()


def test_with_a_member_further_up_it_goes_on_for_the_levels_below_only() -> None:
    """Who has found only that keeps searching; levels at and above the one found are not named again."""
    search = a_search(a_turn())
    for _ in range(3):
        search.attempt()
    search.found("a")
    assert search.is_on()
    assert [search.attempt()[1] for _ in range(3)] == [("a/b",)] * 3


def test_when_that_one_is_lost_its_level_and_those_above_count_again_and_soon() -> None:
    turn = a_turn()
    search = a_search(turn)
    for _ in range(3):
        search.attempt()
    search.found("a")
    for _ in range(6):
        search.attempt()
    search.widen(1)
    assert search.next_at - turn.now > 3.0, "it was looked for below that one already"
    search.widen(len(LADDER))
    assert search.next_at - turn.now <= 1.1
    assert search.attempt()[1] == LADDER


def test_only_answers_to_its_own_attempts_count() -> None:
    search = a_search(a_turn())
    number, _ = search.attempt()
    assert search.asked(number, "a")
    assert not search.asked(number + 1, "a")
    assert not search.asked(number, "elsewhere")


def test_started_again_it_begins_with_the_first_level() -> None:
    search = a_search(a_turn())
    search.attempt()
    search.attempt()
    search.stop()
    search.start()
    assert search.attempt()[1] == ("a/b",)
    search.start()  # under way already
    assert search.attempt()[1] == ("a/b", "a")


def test_with_no_pace_or_no_level_nobody_is_searched_for() -> None:
    turn = a_turn()
    for search in (Search(LADDER, SuperOptions(search_s=0), turn), Search((), SuperOptions(), turn)):
        search.start()
        assert not search.is_on()
