"""The causal stamp: an effect waits for its causes, and for nothing else."""

from __future__ import annotations

from reknit.core.overlay.causal import Stamps

MEMBERS = ("a", "b", "c")


def _send(sender: Stamps, *receivers: str) -> list[int]:
    for receiver in receivers:
        sender.count(receiver)
    return sender.stamp()


def test_an_answer_waits_for_the_question() -> None:
    a, b, c = (Stamps(MEMBERS, name) for name in MEMBERS)
    question = _send(a, "b", "c")
    assert c.ready("a", question)
    c.handle("a", question)
    answer = _send(c, "a", "b")
    assert not b.ready("c", answer)
    b.handle("a", question)
    assert b.ready("c", answer)


def test_what_is_not_a_cause_is_not_waited_for() -> None:
    a, b, c = (Stamps(MEMBERS, name) for name in MEMBERS)
    _send(a, "b", "c")
    news = _send(c, "a", "b")
    assert b.ready("c", news)


def test_a_cause_of_a_cause_is_waited_for() -> None:
    a, b, c = (Stamps(MEMBERS, name) for name in MEMBERS)
    first = _send(a, "b", "c")
    b.handle("a", first)
    second = _send(b, "a", "c")
    third_needs = _send(b, "a")
    assert not c.ready("b", second)
    c.handle("a", first)
    assert c.ready("b", second)
    a.handle("b", second)
    assert a.ready("b", third_needs)


def test_only_messages_to_the_receiver_count() -> None:
    a, b, c = (Stamps(MEMBERS, name) for name in MEMBERS)
    only_for_c = _send(a, "c")
    c.handle("a", only_for_c)
    assert b.ready("c", _send(c, "b"))
