"""PATH, sections 4.2 and 4.3, Figures 3 and 14: routes follow a replaced link along the reconfiguration path.

The tree of Figure 3: the link (A,B) is replaced by (C,D); the head is A, E, F, the tail G, B; X is a neighbour of F. E
and D are subscribed to the same pattern. Where the printed pseudo-code is wrong, the errata (section 8.1) are held to.
"""

from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Ctrl, Flush, Rec, Sub, Unsub
from tests.sim.heard import Stage

P, Q = Pattern.parse("p"), Pattern.parse("q")
TREE = "A-B A-E E-F F-C F-X D-G G-B"
HEAD, TAIL = "A E F C", "D G B"


def _replaced(stage: Stage, strategy: str = "path") -> Stage:
    change = stage.unplanned(strategy, HEAD, TAIL)
    stage.wait(0.1)
    stage.come(change)
    stage.rest()
    return stage


def _recs(stage: Stage) -> list[tuple[str, str, list[Pattern], list[Pattern]]]:
    return [(one, other, each.add, each.delete) for one, other, each in stage.words(Rec) if isinstance(each, Rec)]


def test_figure_3_the_routes_before() -> None:
    stage = Stage(TREE, {"E": [P], "D": [P]})
    assert stage.entries("A") == [("B", "p"), ("E", "p")]  # ab, and ab1 because of E
    assert stage.entries("B") == [("A", "p"), ("G", "p")]  # ba, and the way to D
    assert stage.entries("X") == [("F", "p")]


def test_figure_3_the_routes_after() -> None:
    """ "Only ab2, ab3, and ab4 need to be added towards B ... only ba3 needs to be added towards A"."""
    stage = Stage(TREE, {"E": [P], "D": [P]})
    before = len(stage.records)
    _replaced(stage)
    added = [(each.node, each.peer) for each in stage.records[before:] if each.kind is Kind.ROUTE_ADDED]
    removed = [(each.node, each.peer) for each in stage.records[before:] if each.kind is Kind.ROUTE_REMOVED]
    assert sorted(added) == [("C", "D"), ("D", "C"), ("E", "F"), ("F", "C")]
    assert sorted(removed) == [("A", "B"), ("B", "A"), ("D", "G"), ("E", "A"), ("G", "B")]
    assert stage.wrong() == []


def test_section_4_2_a_dispatcher_off_the_path_experiences_no_change() -> None:
    """ "In Figure 3, for instance, X will keep forwarding events to F as before the reconfiguration"."""
    stage = Stage(TREE, {"E": [P], "D": [P]})
    before = len(stage.records)
    _replaced(stage)
    assert stage.entries("X") == [("F", "p")]
    assert [each for each in stage.records[before:] if each.node == "X" and each.pattern is not None] == []
    assert [word for word in stage.said if "X" in word[:2]] == []


def test_section_4_3_1_p_add_and_p_del_coincide_at_the_initiator_and_p_del_shrinks_on_the_way() -> None:
    """ "patterns in P_del for which a subscription exists towards [another] dispatcher or a client ... are removed"."""
    stage = _replaced(Stage(TREE, {"E": [P], "D": [P]}))
    assert _recs(stage) == [
        ("A", "E", [P], [P]),  # nobody but E wants p from A any more
        ("E", "F", [P], []),  # E has a subscriber of its own
        ("F", "C", [P], []),
        ("C", "D", [P], []),
        ("D", "G", [], []),
        ("G", "B", [], []),
    ]


def test_section_4_3_1_on_the_head_no_subscription_is_sent() -> None:
    stage = _replaced(Stage(TREE, {"E": [P], "D": [P, Q]}))
    said = [word[:2] for word in stage.words(Sub, Unsub)]
    assert [hop for hop in said if set(hop) <= set("AEFC")] == []


def test_section_4_3_1_a_subscription_for_each_pattern_crosses_the_new_link_followed_by_recmsg() -> None:
    stage = _replaced(Stage(TREE, {"E": [P], "X": [Q], "D": [P]}))
    crossed = [word[2] for word in stage.said if word[:2] == ("C", "D")]
    assert sorted(crossed[:2], key=str) == [Sub([P]), Sub([Q])]
    assert isinstance(crossed[2], Rec)


def test_section_4_3_1_superfluous_subscriptions_on_the_tail_go_only_when_recmsg_has_reached_its_end() -> None:
    """ "the subscription from G to B and the one from D to G"; and section 4.3.2: FLUSHMSG behind them."""
    stage = _replaced(Stage(TREE, {"E": [P], "D": [P]}))
    at_the_end = stage.said.index(next(word for word in stage.words(Rec) if word[:2] == ("G", "B")))
    assert [(one, other, type(each)) for one, other, each in stage.said[at_the_end + 1 :]] == [
        ("B", "G", Unsub),
        ("B", "G", Flush),
        ("G", "D", Unsub),
        ("G", "D", Flush),
    ]


def test_section_4_3_2_ctrlmsg_notifies_the_upstream_neighbour() -> None:
    stage = _replaced(Stage(TREE, {"E": [P], "D": [P]}))
    assert [word[:2] for word in stage.words(Ctrl)] == [("E", "A"), ("F", "E"), ("C", "F")]


def test_section_4_3_2_an_unsubscription_that_crosses_recmsg_on_the_head_is_ignored() -> None:
    """ "it could decide to unsubscribe from S, before knowing that it should instead keep the subscription"."""
    stage = Stage(TREE, {"E": [P], "D": [P]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.1)
    stage.want_no_more("E", P)  # on its way to A when A begins
    stage.come(change)
    stage.wait(0.005)
    assert ("E", "p") in stage.entries("A")
    stage.rest()
    assert ("E", "A", Unsub([P])) in stage.said
    assert ("E", "p") in stage.entries("A")  # because of D
    assert stage.wrong() == []


def test_section_4_3_2_a_subscription_at_once_followed_by_an_unsubscription_steals_nothing() -> None:
    """ "S could receive a subscription message from R, immediately followed by an unsubscription" (errata, row 9)."""
    stage = Stage(TREE, {"D": [P]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.1)
    stage.want("E", P)
    stage.want_no_more("E", P)
    stage.come(change)
    stage.rest()
    assert ("E", "p") in stage.entries("A")
    assert stage.wrong() == []


def test_section_4_3_2_what_was_unsubscribed_during_the_disconnection_is_taken_back_by_the_far_end() -> None:
    stage = Stage(TREE, {"D": [P]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.05)
    stage.want_no_more("D", P)
    stage.wait(0.05)
    stage.come(change)
    stage.rest()
    assert ("D", "C", Unsub([P])) in stage.said
    assert stage.wrong() == []


def test_section_4_3_2_what_was_subscribed_during_the_disconnection_follows_the_flush() -> None:
    stage = Stage(TREE, {"A": [P]})
    change = stage.unplanned("path", HEAD, TAIL)
    stage.wait(0.05)
    stage.want("G", Q)
    stage.wait(0.05)
    stage.come(change)
    stage.rest()
    flush = next(word for word in stage.words(Flush) if word[:2] == ("G", "D"))
    assert stage.said.index(("D", "C", Sub([Q]))) > stage.said.index(flush)
    assert stage.wrong() == []


def test_section_4_3_2_what_is_stale_on_the_tail_is_never_propagated_to_the_first_subtree() -> None:
    """ "Propagating these subscriptions to the first subtree would therefore be unnecessary"."""
    stage = _replaced(Stage(TREE, {"E": [P], "A": [Q]}))
    assert [word for word in stage.words(Sub, Unsub) if word[:2] == ("D", "C")] == []
    assert stage.wrong() == []


@pytest.mark.parametrize("strategy", ["path", "path-batched"])
@pytest.mark.parametrize(("head", "tail"), [("A", "D G B"), ("A E F C", "B"), ("A", "G B"), ("A E", "B")])
def test_an_empty_head_and_an_empty_tail(head: str, tail: str, strategy: str) -> None:
    """Errata, rows 6 and 7: no CTRLMSG where A is C, no FLUSHMSG where B is D."""
    stage = Stage(TREE, {"E": [P], "D": [P], "X": [Q], "B": [Q]})
    change = stage.unplanned(strategy, head, tail)
    stage.wait(0.1)
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []
    assert bool(stage.words(Ctrl)) == (" " in head)
    assert bool(stage.words(Flush)) == (" " in tail)


def test_two_reconfigurations_with_disjoint_paths_are_told_apart_by_their_ids() -> None:
    """Section 4.3.1: "Multiple, concurrent reconfigurations can be dealt with by ... a reconfiguration identifier"."""
    stage = Stage("A-B B-E E-M M-R R-S S-T", {"A": [P], "B": [Q], "T": [Q], "R": [P]})
    changes = [stage.unplanned("path", "A", "E B", "one"), stage.unplanned("path", "R", "T S", "two")]
    stage.wait(0.1)
    for change in changes:
        stage.come(change)
    stage.rest()
    assert stage.edges() == [("A", "E"), ("B", "E"), ("E", "M"), ("M", "R"), ("R", "T"), ("S", "T")]
    assert {each.change.id for _, _, each in stage.words(Rec) if isinstance(each, Rec)} == {"one", "two"}
    assert stage.wrong() == []


@pytest.mark.parametrize("strategy", ["strawman", "deferred", "path", "path-batched"])
def test_section_5_2_delivery_drops_and_then_comes_back_to_exactly_all(strategy: str) -> None:
    stage = Stage(TREE, {"E": [P], "D": [P], "X": [P]}, defer_s=0.3)
    change = stage.unplanned(strategy, HEAD, TAIL)
    stage.publish("B", "pam", Event("p"))  # into the gap
    stage.wait(0.1)
    stage.come(change)
    stage.rest()
    stage.publish("B", "pam", Event("p"))
    stage.publish("A", "pat", Event("p"))
    stage.rest()
    got = [(each.node, each.event.id) for each in stage.records if each.kind is Kind.DELIVERED and each.event]
    assert sorted(node for node, id_ in got if id_ == ("B.1", 1)) == ["D"]
    for id_ in (("B.1", 2), ("A.1", 1)):
        assert sorted(node for node, each in got if each == id_) == ["D", "E", "X"]
