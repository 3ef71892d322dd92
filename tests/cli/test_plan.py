"""``reknit plan``: shown, carried out on a network that runs, and taken back. Made from a trace: where Spark is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reknit.cli._changes.moves import make as make_move
from reknit.cli._operator import Operator
from reknit.cli._plans.keep import note_trace
from reknit.cli._problem import Failed
from reknit.core.options import BrokerOptions
from reknit.core.overlay.history import SWAP, Deed
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from reknit.model.event import Event
from reknit.model.ring import ring_id
from reknit.planning.files import write_plan
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Plan, Rules, make_plan
from reknit.planning.ring import Ring
from reknit.planning.ring_plan import Circle, RingEvidence, RingPlan, RingRules, places_of
from reknit.trace.records import Kind, Record
from reknit.trace.store import write_trace
from tests.ports import ports_in_a_row

Reknit = Callable[..., Any]
TRACED_S = 120
LINE = [("b1", "b2"), ("b2", "b3")]


def planned() -> Plan:
    """b1 and b3 talk over b2."""
    evidence = Evidence(events=120, flows=2, seconds=60.0)
    return make_plan(LINE, [Flow(("b1", "b3"), 100), Flow(("b2", "b3"), 20)], evidence, Rules())


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def test_a_plan_is_shown(reknit: Reknit, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    said = reknit("plan", "show", str(file))
    assert said.out.splitlines() == [
        "120 events in 60.0 s; they crossed links 220 times",
        f"  swap b1 b2 b3  saves 100, leaves 120; takes 14 messages, {planned().bytes} bytes",
        f"1 swaps: 120 crossings, 45% less, for 14 messages of {planned().bytes} bytes",
        "touches b1, b2, b3",
        "disruption: brokers are locked 3 times, three for each swap; events wait for none of them",
        "horizon 1 times the time watched, at most 6 neighbours, seed 0",
        "prices by subscription-forwarding, 0 subscriptions, 0 bytes an event",
        "before: b1 - b2, b2 - b3",
        "after: b1 - b3, b2 - b3",
    ]
    assert reknit("plan", "show", str(file), "--json").out.encode() == file.read_bytes()
    pictures = [tmp_path / name for name in ("one.png", "two.png")]
    for picture in pictures:
        assert reknit("plan", "show", str(file), "--picture", str(picture)).code == 0
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_a_plan_is_carried_out_and_taken_back(reknit: Reknit, network: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    assert reknit("plan", "apply", str(file), "--dry-run").code == 0
    assert links(reknit) == LINE
    said = reknit("plan", "apply", str(file), "--verify")
    assert (said.code, said.out.startswith("1 links have moved in ")) == (0, True), said
    assert links(reknit) == [("b1", "b3"), ("b2", "b3")]
    surprised = reknit("plan", "apply", str(file))
    assert surprised.code == 2
    assert "1 of 1 steps are carried out already; go back with: reknit plan undo" in surprised.err
    assert reknit("plan", "undo", str(file), "--verify").code == 0
    assert links(reknit) == LINE
    again = reknit("plan", "undo", str(file))
    assert (again.code, "there is nothing to take back" in again.err) == (2, True)


def two_steps(tmp_path: Path) -> Path:
    """Once round: b1 - b3 for b1 - b2, then b1 - b2 again, for b2 - b3."""
    plan = planned()
    steps = [plan.steps[0], msgspec.structs.replace(plan.steps[0], mover="b2", middle="b3", goal="b1")]
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(msgspec.structs.replace(plan, steps=steps, after=[("b1", "b2"), ("b1", "b3")])))
    return file


def test_a_plan_that_stopped_half_way_is_taken_back(
    reknit: Reknit, network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, asked = two_steps(tmp_path), list[Deed]()

    def refused_then(operator: Operator, deed: Deed, of: str) -> str:
        asked.append(deed)
        if len(asked) > 1:
            raise Failed("b3 is locked")
        return make_move(operator, deed, of)

    with monkeypatch.context() as context:
        context.setattr("reknit.cli._changes.perform.make", refused_then)
        stopped = reknit("plan", "apply", str(file))
    assert (stopped.code, "b3 is locked; 1 of 2 steps are done; the tree is whole" in stopped.err) == (1, True)
    assert links(reknit) == [("b1", "b3"), ("b2", "b3")]
    assert "1 of 2 steps are carried out already" in reknit("plan", "apply", str(file)).err
    assert reknit("plan", "undo", str(file), "--dry-run", "--json").json["steps"] == ["swap b1 b3 b2"]
    assert reknit("plan", "undo", str(file)).code == 0
    assert links(reknit) == LINE


def test_a_plan_stops_when_the_tree_is_not_what_it_expects(
    reknit: Reknit, network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else has swapped a link meanwhile; the second step is not asked for."""
    file, asked = two_steps(tmp_path), list[Deed]()

    def meddled_with(operator: Operator, deed: Deed, of: str) -> str:
        asked.append(deed)
        change = make_move(operator, deed, of)
        make_move(operator, Deed(SWAP, ("b1", "b3", "b2")), "")
        return change

    with monkeypatch.context() as context:
        context.setattr("reknit.cli._changes.perform.make", meddled_with)
        context.setattr("reknit.cli._changes.perform.SETTLE_S_MAX", 0.5)
        stopped = reknit("plan", "apply", str(file))
    assert (stopped.code, len(asked)) == (1, 1)
    assert "after swap b1 b2 b3 the tree is another than was planned: look at b1 - b2; 1 of 2 steps" in stopped.err
    assert links(reknit) == LINE


def traced(tmp_path: Path, crossed: int) -> Path:
    """A trace whose events, twenty a second, cross so many links each from now on."""
    records, now = list[Record](), time.time()
    for number in range(1, 20 * TRACED_S):
        event = Event("t", source="b1.1", seq=number)
        records.append(Record(now + number / 20, "b1", Kind.PUBLISHED, client="p", event=event))
        records += [Record(now + number / 20, "b1", Kind.FORWARDED, peer="b3", event=event)] * crossed
    write_trace(records, tmp_path / "trace")
    return tmp_path / "trace"


def test_what_was_saved_is_measured_beside_the_prediction(
    reknit: Reknit, network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the trace that the plan was made from, without being told."""
    monkeypatch.setattr("reknit.cli._plans.watch.FLUSH_S_MAX", 0.0)
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    note_trace(str(file), str(traced(tmp_path, crossed=1)))
    said = reknit("plan", "apply", str(file), "--watch-s", "0.5")
    assert reknit("plan", "undo", str(file)).code == 0
    assert said.code == 0, said
    assert "1.833 before, predicted 1.000, measured 1.000 over " in said.out
    assert "45% saved, the prediction off by 0.0%" in said.out
    kept = json.loads((tmp_path / "plan.json.result.json").read_bytes())
    assert (kept["predicted"], kept["measured"], kept["events"] > 5) == (1.0, 1.0, True)
    unwatched = reknit("plan", "apply", str(file), "--watch-s", "0")
    assert reknit("plan", "undo", str(file)).code == 0
    assert (unwatched.code, "measured" in unwatched.out) == (0, False)


def test_a_result_that_is_worse_is_a_surprise_in_one_document(
    reknit: Reknit, network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reknit.cli._plans.watch.FLUSH_S_MAX", 0.0)
    file, trace = tmp_path / "plan.json", traced(tmp_path, crossed=2)
    file.write_bytes(write_plan(planned()))
    words = ("plan", "apply", str(file), "--trace", str(trace), "--watch-s", "0.5")
    said = reknit(*words, "--json")
    assert reknit("plan", "undo", str(file)).code == 0
    assert (said.code, said.json["done"], said.json["result"]["measured"]) == (1, True, 2.0)
    assert "more than before the plan, 2.000 for 1.833" in said.json["surprise"]
    shown = reknit(*words)
    assert reknit("plan", "undo", str(file)).code == 0
    assert (shown.code, "a surprise: links crossed by an event: more than before" in shown.out) == (1, True)


def notified(where: Path, ids: dict[str, int]) -> Path:
    """A trace whose events, twenty a second, go from their root to one other broker, and to a client there."""
    ring, names = Ring(list(ids.values())), {number: name for name, number in ids.items()}
    root = names[ring.ids[ring.owner(ring_id("t"))]]
    other = next(name for name in sorted(ids) if name != root)
    records, now = list[Record](), time.time()
    for number in range(1, 20 * TRACED_S):
        event, at = Event("t", source=f"{root}.1", seq=number), now + number / 20
        records.append(Record(at, root, Kind.PUBLISHED, client="p", event=event))
        records.append(Record(at, root, Kind.FORWARDED, peer=other, event=event))
        records.append(Record(at, other, Kind.DELIVERED, client="c", event=event))
    write_trace(records, where)
    return where


def ring_plan(ids: dict[str, int]) -> RingPlan:
    """Two changes of places, one after the other; that they save anything is said, and not so."""
    circles = [["b1", "b3", "b4"], ["b2", "b1"]]
    steps = [Circle(circle, 10.0, 100.0 - 10 * number, 50) for number, circle in enumerate(circles, 1)]
    after = places_of(ids, circles)
    evidence = RingEvidence(1000.0, 1, 2, 60.0)
    return RingPlan(2, ids, after, steps, sorted(ids), 100.0, 80.0, 100, 8, 1, RingRules(), evidence)


def test_a_plan_of_the_ring_is_shown_carried_out_and_taken_back(
    reknit: Reknit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = NetworkSection(brokers=4, mqtt_base_port=ports_in_a_row(4))
    network = plan_network(NetworkFile(network=section, options=BrokerOptions(routing="rendezvous")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reknit.cli._plans.watch.FLUSH_S_MAX", 0.0)
    names = [broker.name for broker in network.brokers]
    made = ring_plan({name: ring_id(name) for name in names})
    (tmp_path / "plan.json").write_bytes(write_plan(made))

    def ids() -> dict[str, int]:
        with Operator([]) as operator:
            return {table["name"]: table["ring"]["id"] for table in operator.all("/table")}

    async def run(*words: str) -> Any:
        return await asyncio.to_thread(reknit, "plan", *words)

    async def story() -> None:
        async with Network(network, tmp_path, lambda line: None):
            assert (await asyncio.to_thread(reknit, "verify-routes")).code == 0  # the ring is one
            shown = await run("show", "plan.json")
            assert "  places b1 b3 b4  saves 10, leaves 90; takes 50 messages by Equation 7" in shown.out.splitlines()
            dry = await run("apply", "plan.json", "--dry-run")
            assert dry.out.splitlines()[-1] == "100 messages by Equation 7; nothing was changed"
            assert (await asyncio.to_thread(ids)) == made.before
            early = await run("undo")
            assert (early.code, "there is nothing to take back" in early.err) == (2, True)
            trace = await asyncio.to_thread(notified, tmp_path / "trace", made.after)
            done = await run("apply", "--verify", "--json", "--trace", str(trace), "--watch-s", "0.5")
            assert (done.code, len(done.json["versions"]), done.json["differences"]) == (1, 2, []), done
            assert (done.json["result"]["predicted"], done.json["result"]["measured"]) == (0.08, 1.0)
            assert "more than before the plan, 1.000 for 0.100" in done.json["surprise"]
            assert (await asyncio.to_thread(ids)) == made.after
            twice = await run("apply")
            assert (twice.code, "2 of 2 steps are carried out already" in twice.err) == (2, True)
            back = await asyncio.to_thread(reknit, "places", "b1", "b2")
            assert back.code == 0, back  # so only the first step is carried out
            halfway = await run("undo", "--verify")
            assert halfway.code == 0, halfway
            assert (await asyncio.to_thread(ids)) == made.before
            other = await asyncio.to_thread(reknit, "places", "b3", "b4")
            assert other.code == 0, other
            refused = await run("apply")
            assert (refused.code, "the ring is another than the plan was made for: b3 is at" in refused.err) == (
                2,
                True,
            )

    asyncio.run(story())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan",), "plan: name a trace with --from, or a verb"),
        (("plan", "show", "nowhere.json"), "nowhere.json: No such file"),
    ],
)
def test_bad_input_is_one_line(reknit: Reknit, words: tuple[str, ...], said: str) -> None:
    found = reknit(*words)
    assert (found.code, said in found.err, found.err.count("\n")) == (2, True, 1)


def test_what_is_no_plan_or_has_no_step_is_refused(reknit: Reknit, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("{}")
    assert "no plan" in reknit("plan", "show", str(file)).err
    file.write_bytes(write_plan(make_plan(LINE, [], Evidence(0, 0, 0.0), Rules())))
    assert "no swap is worth what it takes" in reknit("plan", "show", str(file)).out
    assert "the plan has no step" in reknit("plan", "apply", str(file)).err
