"""The triangle: while three brokers are all linked, each event takes one way to each of them, in the right order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reknit.core.overlay.notes import Notes, Part, SwapNote, write_notes
from reknit.core.overlay.notes import Stage as Far
from reknit.core.overlay.swap import ID_FLOOR
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Open, Refuse, Steered
from tests.core.desk import Desk, event, pattern
from tests.core.overlay.triple import Triple, edges
from tests.sim.heard import Stage


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table", "flooding"])
@pytest.mark.parametrize("seed", range(6))
def test_everybody_gets_everything_once_and_in_order_during_a_swap(routing: str, seed: int) -> None:
    cluster = Triple(f"all {seed}", latency_s_max=0.1, routing=routing)
    request = cluster.swap("a", "b", "c")
    for number in range(60):
        for broker in "abcxyz":
            cluster.later(number * 0.02, broker, f"all/{broker}/{number}")
    assert cluster.settle(30.0)
    assert cluster.replies[request] == ""
    assert edges(cluster) == [("a", "c"), ("a", "x"), ("b", "c"), ("b", "y"), ("c", "z")]
    for client in "abcxyz":
        heard = cluster.heard(f"at-{client}")
        for source in "abcxyz":
            assert [topic for topic in heard if f"/{source}/" in topic] == [f"all/{source}/{n}" for n in range(60)]


def test_an_event_goes_to_both_others_while_it_is_flooded_and_no_further() -> None:
    cluster = Triple(latency_s_max=0.001)
    cluster.swap("a", "b", "c")
    for number in range(40):
        cluster.later(number * 0.0005, "x", f"all/{number}")
    assert cluster.settle(30.0)
    hops: dict[str, list[tuple[str, str]]] = {}
    for record in cluster.seen(Kind.FORWARDED):
        assert record.event is not None
        hops.setdefault(record.event.topic, []).append((record.node, record.peer))
    ways = {tuple(sorted(hop for hop in each if set(hop) <= set("abc"))) for each in hops.values()}
    assert ways == {
        (("a", "b"), ("b", "c")),
        (("a", "b"), ("a", "c")),
        (("a", "c"), ("c", "b")),
    }  # before, while, after


def _answering(cluster: Triple) -> Callable[[str, str, Event], None]:
    def react(broker: str, client: str, event: Event) -> None:
        if client == "at-c" and event.topic.startswith("all/question"):
            cluster.say("c", f"all/answer/{event.topic}")

    return react


@pytest.mark.parametrize("causal", [True, False])
def test_an_answer_does_not_overtake_the_question_with_the_stamp_on(causal: bool) -> None:
    """SWAP claims it without a stamp; simulation shows that it needs one."""
    wrong = 0
    for seed in range(50):
        cluster = Triple(f"causal {seed}", latency_s_max=0.4, causal=causal)
        cluster.clients.took = lambda broker, client, event, cluster=cluster: (  # type: ignore[misc]
            cluster.say("c", f"all/answer/{event.topic}")
            if client == "at-c" and event.topic.startswith("all/question")
            else None
        )
        cluster.swap("a", "b", "c")
        for number in range(6):
            cluster.later(number * 0.37, "a", f"all/question/{number}")
        assert cluster.settle(60.0)
        heard = cluster.heard("at-b")
        wrong += sum(heard.index(f"all/answer/all/question/{n}") < heard.index(f"all/question/{n}") for n in range(6))
    assert wrong == 0 if causal else wrong > 0


@pytest.mark.parametrize("later", [0.0005, 0.02, 0.1])
def test_what_the_middle_has_told_the_mover_alone_comes_before_what_the_goal_answers(later: float) -> None:
    """The middle asks the goal when the swap is over for it, while its word is still on the old, slow way."""
    for number in range(50):
        net = Stage("a-b b-c", {"a": [Pattern.parse("a/#")], "c": [Pattern.parse("c/#")]})
        net.clients.took = lambda broker, client, event, net=net: (  # type: ignore[misc]
            net.publish("c", "at c", Event("a/answer")) if client == "at c" else None
        )
        net.swap("a", "b", "c")
        net.wait(0.1 + number * 0.002)
        net.network._latency = lambda one, other: 0.3 if (one, other) == ("b", "a") else 0.01  # type: ignore[method-assign]
        net.publish("b", "at b", Event("a/word"))
        net.wait(later)
        net.publish("b", "at b", Event("c/question"))
        net.rest()
        heard = [each.event for each in net.records if each.kind is Kind.DELIVERED and each.client == "at a"]
        assert [event.topic for event in heard if event is not None] == ["a/word", "a/answer"]


def test_a_goal_whose_mover_has_left_gives_events_to_the_middle_alone() -> None:
    """The mover was done with the swap, and an operator has removed its link; the goal still waits for the middle."""
    note = SwapNote(("a", ID_FLOOR | 1), "b", "c", "a:1", Part.GOAL, Far.FLOOD)
    desk = Desk("a", "b", name="c", notes=write_notes(Notes(note)))
    desk.client("k")
    middle, mover = desk.linked("b", 1, pattern("#")), desk.far_end("a", 2)
    mover.greet()
    mover.say(Open(note.id, True))
    mover.send(Refuse("c and a are no neighbours", retry=False, stranger=True))
    desk.publish(event("e"))
    assert desk.broker.overlay.swaps.involves("b")
    assert [each.topic for word in middle.heard() if isinstance(word, Steered) for each in word.events] == ["e"]
