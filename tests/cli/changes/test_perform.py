"""A chain of moves goes on where the tree has changed under it, or goes back; and says how far it has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from reknit.cli._changes import calm as calm_module
from reknit.cli._changes import perform
from reknit.cli._changes.perform import Done, carry_out
from reknit.cli._changes.plans import Plan, plan_drain, plan_link, plan_swap, plan_swaps
from reknit.cli._changes.resume import plan_resume
from reknit.cli._changes.view import look
from reknit.cli._operator import Answer, Operator
from reknit.cli._problem import BadInput, Failed, GoesOn, Interrupted, Unanswered
from reknit.core.overlay.history import Deed, plain_deed
from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import Step, after, why_no_swap

LINE: list[Edge] = [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")]
RING: list[Edge] = [("b1", "b5"), *LINE[1:]]


class Network:
    """Brokers that swap at once, and remember; what is in ``before`` happens before the request of that number."""

    def __init__(self, edges: list[Edge]) -> None:
        self.edges = list(edges)
        self.history: list[dict[str, Any]] = []
        self.pending: list[dict[str, Any]] = []
        self.silent: list[str] = []
        self.asked = 0
        self.before: dict[int, Callable[[], None]] = {}

    @property
    def links(self) -> list[set[str]]:
        return [set(edge) for edge in self.edges]

    def swap(self, step: Step, of: str = "") -> str:
        if why := why_no_swap(self.edges, step):
            raise Failed(why)
        self.edges = after(self.edges, step)
        name, deed = f"{step.mover}.{len(self.history):012x}", Deed("swap", step)
        entry = {"id": name, "part": "mover", "begun": float(self.asked), "ended": float(self.asked), "error": ""}
        entry |= {"of": of, "messages": 1, "bytes": 1, "undo": plain_deed(deed.inverse), **plain_deed(deed)}
        self.history.append(entry)
        return name

    # --- as an operator sees it

    def ask(self, path: str) -> list[Answer]:
        names = sorted(adjacency(self.edges))
        return [
            Answer(name, *((None, f"{name}: no") if name in self.silent else (self._said(name, path),)))
            for name in names
        ]

    def _said(self, name: str, path: str) -> dict[str, Any]:
        if path == "/topology":
            return {"name": name, "neighbours": {other: {} for other in adjacency(self.edges)[name]}}
        mine = [each for each in self.history if each["brokers"][0] == name]
        waiting = [each for each in self.pending if each["brokers"][0] == name]
        return {"name": name, "under_way": None, "waiting": waiting, "history": mine}

    def change(self, method: str, path: str, body: dict[str, Any], at: str) -> dict[str, Any]:
        self.asked += 1
        self.before.get(self.asked, lambda: None)()
        if path == "/drain":
            raise Failed("the neighbour says no")
        return {"change": self.swap(Step(at, body["middle"], body["goal"]), body["of"])}

    def get(self, name: str, path: str) -> dict[str, Any]:
        return self._said(name, path)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "AGAIN_S_MIN", 0.0)
    monkeypatch.setattr(perform, "AGAIN_S_MAX", 0.0)
    monkeypatch.setattr(calm_module, "CALM_S_MAX", 0.0)
    monkeypatch.setattr(calm_module, "CALM_POLL_S", 0.0)


def operator(network: Network) -> Operator:
    return cast(Operator, network)


def slide(network: Network, old: Edge, new: Edge) -> Plan:
    return plan_link(look(operator(network)), old, new, "swap")


def carry(network: Network, plan: Plan) -> Done:
    return carry_out(operator(network), plan)


def fails(network: Network, plan: Plan, kind: type[Exception] = Failed) -> str:
    with pytest.raises(kind) as error:
        carry(network, plan)
    return str(error.value)


def test_what_is_left_is_planned_anew_when_somebody_else_has_changed_the_tree(capfd: Any) -> None:
    network = Network(RING)
    network.before[2] = lambda: str(network.swap(Step("b3", "b4", "b5"))) and None
    plan = slide(network, ("b1", "b5"), ("b1", "b2"))
    assert [str(move) for move in plan.moves] == ["swap b1 b5 b4", "swap b1 b4 b3", "swap b1 b3 b2"]
    done = carry(network, plan)
    assert done.steps == ["swap b1 b5 b4", "swap b1 b4 b5", "swap b1 b5 b3", "swap b1 b3 b2"]
    assert {"b1", "b2"} in network.links
    said = capfd.readouterr().err.splitlines()
    assert said[2] == (
        "  b3 is no neighbour of b4, which is linked with b1, b5; "
        "what is left is planned anew on the tree as it is now, try 1 of 5"
    )
    assert said[3] == "2 of 4: swap b1 b4 b5"


def test_all_its_steps_are_known_by_its_id_and_what_it_is_after() -> None:
    network = Network(LINE)
    plan = slide(network, ("b1", "b2"), ("b1", "b4"))
    carry(network, plan)
    assert {each["of"] for each in network.history} == {f"{plan.of} link replace b1 b2 --with b1 b4"}


def test_what_cannot_be_reached_any_more_is_undone() -> None:
    network = Network(RING)

    def elsewhere() -> None:
        """Somebody else links the two."""
        network.edges = [("b1", "b4"), ("b1", "b2"), ("b3", "b4"), ("b4", "b5")]

    network.before[2] = elsewhere
    error = fails(network, slide(network, ("b1", "b5"), ("b1", "b2")))
    assert error.startswith("b1 and b2 are linked already; the 2 steps that were done are undone again: change undo.")
    assert {"b1", "b5"} in network.links


def test_where_there_is_no_way_back_the_last_line_says_so_and_what_to_do() -> None:
    network = Network(RING)

    def elsewhere() -> None:
        network.edges = LINE

    network.before[2] = elsewhere
    plan = slide(network, ("b1", "b5"), ("b1", "b2"))
    error = fails(network, plan)
    assert "; there is no way back, either: change undo" in error
    assert error.endswith(
        f"; 1 of 3 steps are done; the tree is whole; to go on: reknit change resume {plan.of}; "
        f"to go back: reknit change undo {plan.of}"
    )


def test_a_drain_that_is_refused_swaps_the_links_back() -> None:
    network = Network(LINE)
    error = fails(network, plan_drain(look(operator(network)), "b3", "b2"))
    assert error.startswith("the neighbour says no; the 1 step that was done is undone again: change b4.")
    assert network.links == [set(edge) for edge in LINE]
    assert network.asked == 3  # a refusal that has nothing to do with the tree is not tried again


def test_links_that_move_each_for_itself_stay_where_they_are() -> None:
    network = Network(LINE)
    steps = [Step("b1", "b2", "b3"), Step("b5", "b4", "b3")]
    network.before[2] = lambda: setattr(network, "edges", [*network.edges[:3], ("b1", "b5")])
    plan = plan_swaps(look(operator(network)), "adapt", LINE, steps)
    assert f"; 1 of 2 steps are done; the tree is whole; to go back: reknit change undo {plan.of}" in fails(
        network, plan
    )
    assert {"b1", "b3"} in network.links


def test_one_swap_that_is_refused_is_not_made_something_else() -> None:
    network = Network(LINE)
    plan = plan_swap(look(operator(network)), Step("b1", "b2", "b3"))
    network.edges = [("b1", "b3"), *LINE[1:]]
    assert fails(network, plan) == "b1 and b3 are linked already"


def unanswered(network: Network, made: bool) -> Callable[[], None]:
    """Whoever is asked for a swap makes it, or not, and dies."""

    def lost() -> None:
        if made:
            network.swap(Step("b1", "b2", "b3"))
        raise Unanswered("b1: no answer")

    return lost


def test_one_swap_whose_answer_was_lost_is_looked_for_on_the_tree(capfd: Any) -> None:
    network = Network(LINE)
    network.before[1] = unanswered(network, made=True)
    done = carry(network, plan_swap(look(operator(network)), Step("b1", "b2", "b3")))
    assert (done.steps, done.change) == (["swap b1 b2 b3"], "b1.000000000000")
    assert capfd.readouterr().err.splitlines() == ["  b1: no answer; it is made all the same"]


def test_one_swap_that_came_to_nothing_says_what_to_do() -> None:
    network = Network(LINE)
    network.before[1] = unanswered(network, made=False)
    assert fails(network, plan_swap(look(operator(network)), Step("b1", "b2", "b3"))) == (
        "b1: no answer; it was not made, and the tree is whole: see reknit topology; to try again: reknit swap b1 b2 b3"
    )


@pytest.mark.parametrize("made", [True, False])
def test_a_replacement_that_had_begun_is_looked_for_on_the_tree(made: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its brokers have given it up, for one of them has died, and have joined the two sides in some way."""
    network = Network(LINE)
    plan = plan_link(look(operator(network)), ("b1", "b2"), ("b1", "b5"), "path")
    (move,) = plan.moves

    def given_up(_: Operator, deed: Deed, of: str) -> str:
        network.edges = [("b1", "b5" if made else "b3"), *LINE[1:]]
        entry = {"id": "b1.7", "part": "first", "begun": 1.0, "ended": 2.0, "error": "begun", "unsure": True}
        entry |= {"of": of, "messages": 1, "bytes": 1, "undo": plain_deed(deed.inverse), **plain_deed(deed)}
        network.history.append(entry)
        raise Failed("begun, but not known to be over after 10 s")

    monkeypatch.setattr(perform, "make", given_up)
    if made:
        assert (done := carry(network, plan)).change == "b1.7"
        assert done.steps == [str(move)]
    else:
        why = "begun, but not known to be over after 10 s; it was not made, and the tree is whole"
        assert fails(network, plan) == f"{why}: see reknit topology; to try again: reknit {move}"


def test_nothing_is_said_of_a_replacement_as_long_as_the_two_sides_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(LINE)
    plan = plan_link(look(operator(network)), ("b1", "b2"), ("b1", "b5"), "path")

    def dies(_: Operator, deed: Deed, of: str) -> str:
        network.edges = LINE[2:]
        raise Unanswered("b1: no answer")

    monkeypatch.setattr(perform, "make", dies)
    assert "b1: no answer; what has become of it is not known after 0 s: " in fails(network, plan, GoesOn)


def test_a_step_whose_answer_was_lost_counts_if_the_tree_shows_it() -> None:
    network = Network(LINE)

    def lost() -> None:
        network.swap(Step("b1", "b2", "b3"), "x")
        raise Failed("no answer")

    network.before[1] = lost
    done = carry(network, slide(network, ("b1", "b2"), ("b1", "b4")))
    assert (done.steps, network.asked) == (["swap b1 b2 b3", "swap b1 b3 b4"], 2)
    assert len(done.changes) == 2


def test_nothing_is_undone_as_long_as_it_is_not_known_what_has_become_of_a_step() -> None:
    network = Network(LINE)

    def stuck() -> None:
        network.pending = [{"kind": "swap", "brokers": ["b1", "b3", "b4"]}]
        raise Failed("no answer in time")

    network.before[2] = stuck
    plan = slide(network, ("b1", "b2"), ("b1", "b4"))
    error = fails(network, plan, GoesOn)
    assert error == (
        "no answer in time; what has become of it is not known after 0 s: b1 has not ended swap b1 b3 b4; "
        "1 of 2 steps are done; swap b1 b3 b4 may be asked for, and its brokers then go on with it; the tree is whole; "
        f"to go on: reknit change resume {plan.of}; to go back: reknit change undo {plan.of}"
    )
    assert {"b1", "b3"} in network.links


def interrupt() -> None:
    raise KeyboardInterrupt


def test_who_ends_the_command_is_told_how_far_it_is_and_somebody_else_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(LINE)
    plan = slide(network, ("b1", "b2"), ("b1", "b5"))
    make = perform.make
    made: list[Deed] = []

    def broken_off(where: Operator, deed: Deed, of: str) -> str:
        made.append(deed)
        return make(where, deed, of) if len(made) == 1 else interrupt() or ""

    with monkeypatch.context() as patch:
        patch.setattr(perform, "make", broken_off)
        error = fails(network, plan, Interrupted)
    assert error == (
        "interrupted; 1 of 3 steps are done; swap b1 b3 b4 may be asked for, and its brokers then go on with it; "
        f"the tree is whole; to go on: reknit change resume {plan.of}; to go back: reknit change undo {plan.of}"
    )
    network.swap(Step("b4", "b3", "b2"))  # somebody else changes the tree meanwhile
    rest = plan_resume(operator(network), plan.of[:10])
    done = carry(network, rest)
    assert (done.change, done.steps) == (plan.of, ["swap b1 b3 b2", "swap b1 b2 b4", "swap b1 b4 b5"])
    assert {"b1", "b5"} in network.links
    with pytest.raises(BadInput, match="nothing is left of it: link replace b1 b2 --with b1 b5 is done"):
        plan_resume(operator(network), plan.of)


def test_what_cannot_be_resumed_says_why() -> None:
    network = Network(LINE)
    network.swap(Step("b1", "b2", "b3"))
    with pytest.raises(BadInput, match="that is one step, which brokers carry through by themselves"):
        plan_resume(operator(network), "b1.")
    network.swap(Step("b5", "b4", "b3"), "plan.1-2")
    with pytest.raises(BadInput, match=r"what it was after is not known; to go back: reknit change undo plan\.1-2"):
        plan_resume(operator(network), "plan.")
