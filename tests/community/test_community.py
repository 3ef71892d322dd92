"""What a member does with an event (Figure 8, with the corrections of section 8.2)."""

from __future__ import annotations

from math import floor, log

from reknit.community.community import Community
from reknit.community.hierarchy import Hierarchy
from reknit.community.options import SuperOptions, TopicOptions
from reknit.community.turn import Turn
from reknit.model.event import Event
from reknit.wire.peers import HOPS_MAX, Gossip, Subscribe, Word
from tests.community.desk import a_courier, a_turn, spoken

STILL = SuperOptions(check_s=0.0, search_s=0.0)
EVENT = Event("a/b", b"goal", source="p.1", seq=1)


def a_community(turn: Turn, options: TopicOptions, members: int = 200, supers: int = 3) -> Community:
    community = Community("a/b", Hierarchy({}), options, turn, a_courier(turn))
    table = tuple(f"m{number}" for number in range(members))
    community.join(table, tuple(("a", f"s{number}") for number in range(supers)))
    return community


def options(**changed: object) -> TopicOptions:
    return TopicOptions(membership="static", supers=STILL, population=1000, **changed)  # type: ignore[arg-type]


def sent(turn: Turn, community: Community, forced: bool = False) -> list[tuple[str, Word]]:
    community.disseminate(EVENT, 0, (), forced, ())
    return spoken(turn)


def test_it_gossips_to_the_floor_of_ln_n_and_c_each_once() -> None:
    """Erratum 2: not one more, as the printed loop has it."""
    turn = a_turn()
    community = a_community(turn, options(c=5.0, g=0.0))
    targets = [to for to, _ in sent(turn, community)]
    assert len(targets) == floor(log(1000) + 5) == 11
    assert len(set(targets)) == 11


def test_a_small_table_is_exhausted_and_that_is_all() -> None:
    turn = a_turn()
    assert len(sent(turn, a_community(turn, options(g=0.0), members=4))) == 4


def test_that_a_table_is_too_small_for_c_is_counted() -> None:
    """And not where it holds everybody, or as many as are sent to."""
    for members, population, short in ((4, 1000, 1), (10, 1000, 1), (11, 1000, 0), (4, 5, 0), (3, 5, 1)):
        turn = a_turn()
        terms = TopicOptions(membership="static", supers=STILL, population=population, g=0.0)
        sent(turn, a_community(turn, terms, members=members))
        assert turn.counters.get("short_views", 0) == short


def test_upward_it_sends_with_p_sel_and_then_with_p_a() -> None:
    """Erratum 1. Over 4,000 events ``g a / N`` of each member, within four standard deviations."""
    turn = a_turn()
    community = a_community(turn, options(c=-9.0, g=500.0, a=1.0, z=3))
    rose = [sent(turn, community) for _ in range(4_000)]
    assert abs(sum(map(len, rose)) - 2_000) < 4 * (4_000 * 0.58) ** 0.5
    silent = sum(not each for each in rose) / 4_000
    assert abs(silent - (1 - 0.5 * (1 - (2 / 3) ** 3))) < 0.04


def test_a_table_above_that_is_not_full_gets_as_many_messages() -> None:
    turn = a_turn()
    community = a_community(turn, options(c=-9.0, g=1000.0, a=1.0, z=3), supers=1)
    assert all(len(sent(turn, community)) == 1 for _ in range(20))


def test_a_publisher_can_be_made_to_send_upward() -> None:
    turn = a_turn()
    community = a_community(turn, options(c=-9.0, g=0.0, a=3.0, z=3))
    assert sent(turn, community) == []
    assert len(sent(turn, community, forced=True)) == 3


def test_a_message_upward_says_where_it_goes_and_which_way_it_came() -> None:
    turn = a_turn()
    community = a_community(turn, options(c=-9.0, g=1000.0, a=3.0))
    community.disseminate(EVENT, 4, ("a/b/c",), False, ())
    for _, word in spoken(turn):
        assert isinstance(word, Gossip)
        assert (word.community, word.hops, word.way) == ("a", 5, ("a/b/c", "a/b"))


def test_a_parent_that_the_peer_is_in_itself_needs_no_message() -> None:
    turn = a_turn()
    community = a_community(turn, options(c=-9.0, g=1000.0, a=3.0))
    community.disseminate(EVENT, 0, (), False, (("a", "me"),))
    assert spoken(turn) == []


def test_an_event_that_came_too_far_goes_no_further() -> None:
    turn = a_turn()
    community = a_community(turn, options())
    community.disseminate(EVENT, HOPS_MAX, (), False, ())
    assert spoken(turn) == []
    assert turn.counters == {"hops_max": 1}


def test_several_parents_have_a_table_each_and_the_root_has_none() -> None:
    turn = a_turn()
    hierarchy = Hierarchy({"a/b": ("a", "x")})
    community = Community("a/b", hierarchy, options(c=-9.0, g=1000.0, a=3.0), turn, a_courier(turn))
    community.join((), (("a", "s1"), ("x", "s2"), ("#", "s3")))
    assert [(table.parent, list(table.entries.values())) for table in community.supers] == [
        ("a", ["a", "#"]),
        ("x", ["x", "#"]),
    ]
    community.disseminate(EVENT, 0, (), False, ())
    assert {word.community for _, word in spoken(turn) if isinstance(word, Gossip)} == {"a", "x", "#"}
    assert Community("#", hierarchy, options(), turn, a_courier(turn)).supers == []


def test_who_has_found_members_by_another_way_does_not_subscribe_a_second_time() -> None:
    """Two answers may come to one newcomer: were it to subscribe for each, twice as many would know it."""
    turn = a_turn()
    community = Community("a", Hierarchy({}), TopicOptions(), turn, a_courier(turn))
    community.join((), ())
    number, _ = community.search.attempt()
    community.membership.join(("m1",))  # as a registration on P-Grid does it
    assert community.found(number, "a", ("m1", "m2"))
    assert [type(word) for _, word in spoken(turn)] == [Subscribe]
    assert not community.search.is_on()


def vouched(turn: Turn, community: Community, also: tuple[tuple[str, str], ...] = ()) -> list[tuple[str, Word]]:
    community.vouch(Event("a/b", source="s", seq=1), 0, (), also)
    return spoken(turn)


def test_who_vouches_asks_one_member_above_and_only_once_for_each_event() -> None:
    turn = a_turn()
    community = a_community(turn, options(vouch_tries=2))
    ((to, word),) = vouched(turn, community)
    assert to in community.supers[0].entries
    assert isinstance(word, Gossip)
    assert (word.community, word.hops, word.way) == ("a", 1, ("a/b",))
    assert vouched(turn, community) == []


def test_nobody_vouches_unless_told_to_nor_to_a_parent_that_it_is_in_itself() -> None:
    turn = a_turn()
    assert vouched(turn, a_community(turn, options())) == []
    assert vouched(turn, a_community(turn, options(vouch_tries=2)), (("a", "me"),)) == []
