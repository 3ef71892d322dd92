from __future__ import annotations

from dataclasses import dataclass, field

from reknit.core.ring.trees import ROOT, Trees
from reknit.model.ring import ring_id
from reknit.wire.ring import Branch, Wanted

TOPIC = "news"
KEY = ring_id(TOPIC)


@dataclass
class Way:
    """A ring that leads where it is told."""

    owned: set[int] = field(default_factory=set)
    hops: dict[int, int] = field(default_factory=dict)

    def owns(self, key: int) -> bool:
        return key in self.owned

    def disowns(self, key: int) -> bool:
        return key not in self.owned

    def serves(self, key: int) -> bool:
        return key in self.owned

    def hop(self, key: int) -> int | None:
        return self.hops.get(key)


def trees(way: Way, me: int = 1) -> tuple[Trees, list[tuple[int, Wanted | Branch]]]:
    sent: list[tuple[int, Wanted | Branch]] = []
    return Trees(me, way, lambda hop, message: sent.append((hop, message)), hops_max=5), sent


def test_a_wish_goes_on_to_the_root_and_the_root_grows_a_branch() -> None:
    there, sent = trees(Way(hops={KEY: 7}))
    there.want(TOPIC)
    assert sent == [(7, Wanted(TOPIC, 1, True, 1))]
    root, sent = trees(Way(owned={KEY}, hops={1: 4}), me=7)
    root.received(3, Wanted(TOPIC, 1, True, 1))
    assert sent == [(4, Branch(TOPIC, 1, True, 1))]
    assert root.children(TOPIC) == [4]


def test_a_branch_goes_with_the_last_member_behind_it() -> None:
    root, sent = trees(Way(owned={KEY}, hops={11: 4, 12: 4}), me=7)
    for member in (11, 12):
        root.received(3, Wanted(TOPIC, member, True))
    assert root.counts == {TOPIC: {4: 2}}
    root.received(3, Wanted(TOPIC, 11, False))
    assert root.children(TOPIC) == [4]
    root.received(3, Wanted(TOPIC, 12, False))
    assert root.children(TOPIC) == []
    assert (root.entries, root.counts) == ({}, {})
    assert [each for each in sent if each[1] == Branch(TOPIC, 12, False)] == [(4, Branch(TOPIC, 12, False))]


def test_who_has_grown_an_entry_anew_is_the_only_one_that_can_cut_it() -> None:
    here, _ = trees(Way(hops={11: 4}))
    here.received(5, Branch(TOPIC, 11, True))
    here.received(6, Branch(TOPIC, 11, True))
    here.received(5, Branch(TOPIC, 11, False))
    assert here.children(TOPIC) == [4]
    here.received(6, Branch(TOPIC, 11, False))
    assert here.children(TOPIC) == []


def test_when_the_way_to_a_member_changes_its_branch_does_the_new_one_first() -> None:
    way = Way(hops={11: 4})
    here, sent = trees(way)
    here.received(5, Branch(TOPIC, 11, True))
    way.hops[11] = 8
    sent.clear()
    here.reroute()
    assert sent == [(8, Branch(TOPIC, 11, True, 1)), (4, Branch(TOPIC, 11, False))]


def test_a_root_that_is_none_any_more_gives_its_members_away() -> None:
    way = Way(owned={KEY}, hops={11: 4, KEY: 9})
    here, sent = trees(way)
    here.received(5, Wanted(TOPIC, 11, True))
    assert here.entries[TOPIC][11].parent == ROOT
    assert here.disowned() == {}
    way.owned.clear()
    sent.clear()
    assert here.disowned() == {TOPIC: [11]}
    assert sent == [(4, Branch(TOPIC, 11, False))]
    heir, sent = trees(Way(owned={KEY}, hops={11: 4}))
    heir.handed(TOPIC, 11)
    assert (heir.rooted(), sent) == ({TOPIC: [11]}, [(4, Branch(TOPIC, 11, True, 1))])


def test_a_tree_is_torn_where_no_way_leads_to_somebody_who_may_live() -> None:
    way = Way(owned={KEY}, hops={11: 4, KEY: 9})
    here, _ = trees(way)
    here.received(5, Wanted(TOPIC, 11, True))
    assert not here.is_torn(TOPIC)
    del way.hops[11]
    here.reroute()
    assert here.is_torn(TOPIC)
    assert not here.at_rest
    here.lost(11)
    assert not here.is_torn(TOPIC)
    here.heard(11)
    way.hops[11] = 4
    here.reroute()
    assert here.at_rest
    assert not here.is_torn(TOPIC)


def test_a_branch_that_comes_round_to_its_root_does_not_take_it_over() -> None:
    here, _ = trees(Way(owned={KEY}, hops={11: 4}))
    here.received(3, Wanted(TOPIC, 11, True))
    here.received(5, Branch(TOPIC, 11, True))
    here.received(5, Branch(TOPIC, 11, False))
    assert here.rooted() == {TOPIC: [11]}


def test_entries_that_were_taken_over_go_unless_who_has_grown_them_says_so() -> None:
    here, sent = trees(Way(hops={11: 4, 12: 4}))
    for member in (11, 12):
        here.take_seat((TOPIC, member, 5, 4))
    here.take_seat((TOPIC, 13, ROOT, -1))
    assert sent == []  # nor does it say anything that it has only heard
    here.received(5, Branch(TOPIC, 11, True))
    assert sent == [(4, Branch(TOPIC, 11, True, 1))]
    here.drop_hearsay()
    assert list(here.entries[TOPIC]) == [11, 13]
    assert here.seats() == [(TOPIC, 11, 5, 4), (TOPIC, 13, ROOT, -1)]


def test_a_root_that_has_taken_entries_over_grows_them_anew() -> None:
    here, sent = trees(Way(owned={KEY}, hops={11: 4}))
    here.take_seat((TOPIC, 11, ROOT, 4))
    assert sent == [(4, Branch(TOPIC, 11, True, 1))]


def test_what_is_hearsay_is_not_told_to_another_next_hop_either() -> None:
    way = Way(hops={11: 4})
    here, sent = trees(way)
    here.take_seat((TOPIC, 11, 5, 4))
    way.hops[11] = 6
    here.reroute()
    assert sent == [(4, Branch(TOPIC, 11, False))]
    here.received(5, Branch(TOPIC, 11, True))
    assert sent[1:] == [(6, Branch(TOPIC, 11, True, 1))]


def test_nobody_speaks_for_one_that_is_gone_by_hearsay() -> None:
    """The root may know nothing of it, and would never cut it."""
    here, sent = trees(Way(owned={11}, hops={KEY: 9}))
    here.take_seat((TOPIC, 11, 5, -1))
    here.reroute()
    assert (sent, here.at_rest) == ([], True)
    here.received(5, Branch(TOPIC, 11, True))
    assert sent == [(9, Wanted(TOPIC, 11, False, 1))]


def test_that_its_own_branch_was_there_before_is_nothing_to_rely_on() -> None:
    """Until the root has grown it anew; if it does not, that is asked for."""
    here, sent = trees(Way(owned={1}, hops={KEY: 9}))
    here.wanted[TOPIC] = None
    here.take_seat((TOPIC, 1, 5, -1))
    here.put_right()
    assert (sent, here.at_rest, here.shows(TOPIC)) == ([], False, False)
    assert here.refresh()
    assert sent == [(9, Wanted(TOPIC, 1, True, 1))]
    here.received(5, Branch(TOPIC, 1, True))
    assert (here.at_rest, here.shows(TOPIC)) == (True, True)


def test_who_takes_itself_for_the_root_for_a_while_still_tells_the_one_that_leads_here() -> None:
    way = Way(owned={1, KEY}, hops={KEY: 9})
    here, sent = trees(way)
    here.received(5, Branch(TOPIC, 1, True))
    assert here.refresh()
    assert sent == []  # it is the root itself, it thinks
    way.owned.discard(KEY)
    assert here.refresh()
    assert sent == [(9, Wanted(TOPIC, 1, False, 1))]
    here.received(5, Branch(TOPIC, 1, False))
    assert not here.refresh()


def test_whoever_watches_sees_where_events_go() -> None:
    way, seen = Way(owned={KEY}, hops={11: 4, 12: 4}), list[tuple[str, int, bool]]()
    here, _ = trees(way)
    here.watch = lambda *each: seen.append(each)
    for member in (11, 12):
        here.received(3, Wanted(TOPIC, member, True))
    way.hops[11] = way.hops[12] = 5
    here.reroute()
    assert seen == [(TOPIC, 4, True), (TOPIC, 5, True), (TOPIC, 4, False)]


def test_a_branch_for_one_that_is_gone_ends_at_the_owner_of_its_id_which_speaks_for_it() -> None:
    here, sent = trees(Way(owned={11}, hops={KEY: 9}))
    here.received(5, Branch(TOPIC, 11, True))
    assert sent == [(9, Wanted(TOPIC, 11, False, 1))]


def test_what_the_tree_does_not_show_is_said_again() -> None:
    here, sent = trees(Way(owned={1}, hops={KEY: 9}))
    here.want(TOPIC)
    assert here.refresh()
    assert sent == [(9, Wanted(TOPIC, 1, True, 1))] * 2
    here.received(5, Branch(TOPIC, 1, True))
    assert not here.refresh()
    here.lost(5)
    assert here.refresh()
    assert len(sent) == 3


def test_a_wish_that_has_gone_round_too_often_is_dropped() -> None:
    here, sent = trees(Way(hops={KEY: 9}))
    here.received(3, Wanted(TOPIC, 11, True, 5))
    assert sent == []


def test_what_leads_through_one_that_has_forgotten_all_is_grown_again() -> None:
    root, sent = trees(Way(owned={KEY}, hops={11: 4}), me=7)
    root.received(3, Wanted(TOPIC, 11, True))
    root.lost(4)
    assert root.children(TOPIC) == []
    sent.clear()
    root.reroute()
    assert sent == [(4, Branch(TOPIC, 11, True, 1))]
    assert root.counts == {TOPIC: {4: 1}}


def test_a_branch_that_leads_round_in_circles_ends() -> None:
    here, sent = trees(Way(hops={11: 4}))
    here.received(5, Branch(TOPIC, 11, True, 6))
    assert sent == []


def test_where_each_holds_the_other_for_the_next_hop_a_branch_does_not_go_to_and_fro() -> None:
    one, sent = trees(Way(hops={9: 2}), me=1)
    other, back = trees(Way(hops={9: 1}), me=2)
    one.received(7, Branch(TOPIC, 9, True, 1))
    assert [hop for hop, _ in sent] == [2]
    for _ in range(2):
        other.received(1, Branch(TOPIC, 9, True, 2))
    assert (other.children(TOPIC), back) == ([1], [])
    one.received(2, Branch(TOPIC, 9, True, 3))
    assert [hop for hop, _ in sent] == [2]
