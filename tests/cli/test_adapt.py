"""``reknit adapt``, from the end of a period on: what it decides, and that a network that runs is changed by it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reknit.cli._problem import BadInput
from reknit.cli.adapt import _end_of_period, _go_on, _Order, _recall
from reknit.client import connect
from reknit.planning.adapt import Adapter
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Plan, Rules, make_plan

Reknit = Callable[..., Any]
LINE = [("b1", "b2"), ("b2", "b3")]
TALK = [Flow(("b1", "b3"), 100), Flow(("b2", "b3"), 20)]
EVIDENCE = Evidence(120, 2, 60.0)
TRIES_MAX = 4


@pytest.fixture(scope="module")
def quiet_network(networks: Callable[..., Any]) -> Any:
    """Of its own: what sessions of other tests want would be in the price of a swap."""
    network = networks()
    network.until_ready()
    return network


@pytest.fixture
def network(quiet_network: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(quiet_network.directory)
    return quiet_network


def order(state: Path | None = None) -> _Order:
    return _Order("trace", "tables", str(state or ""), 1.0, 0, dry_run=False, admin=[], as_json=True)


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def said(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def told_without_trouble(adapter: Adapter, capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Of the next period in which all brokers answer: a machine with much else to do may keep one from it."""
    for _ in range(TRIES_MAX):
        _end_of_period(adapter, order(), TALK, EVIDENCE)
        if "trouble" not in (told := said(capfd))[0]:
            return told
    pytest.fail(str(told))


def test_what_pays_in_two_periods_is_carried_out_and_can_be_undone(
    reknit: Reknit, network: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    adapter = Adapter()
    (first,) = told_without_trouble(adapter, capfd)
    assert first["why"] == "a plan is worth while; will it be in the next window, too?"
    assert links(reknit) == LINE
    decided, done = told_without_trouble(adapter, capfd)
    assert (decided["period"], decided["events"], decided["crossings"]) == (first["period"] + 1, 120, 220)
    assert decided["steps"] == [["b1", "b2", "b3"]]
    assert links(reknit) == [("b1", "b3"), ("b2", "b3")]
    assert reknit("change", "undo", done["change"]).code == 0
    assert links(reknit) == LINE


def test_a_dry_run_changes_nothing_and_remembers_nothing(
    reknit: Reknit, network: Any, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    adapter, told = Adapter(), replace(order(tmp_path / "state"), dry_run=True, as_json=False)
    for _ in range(2):
        _end_of_period(adapter, told, TALK, EVIDENCE)
    assert capfd.readouterr().out.splitlines()[-1] == "  would swap b1 b2 b3"
    assert links(reknit) == LINE
    assert not (tmp_path / "state").exists()


def test_a_process_goes_on_where_another_was(network: Any, tmp_path: Path) -> None:
    state = tmp_path / "state"
    told = order(state)
    first, second = Adapter(), Adapter()
    _end_of_period(first, told, TALK, EVIDENCE)
    _recall(second, str(state))
    assert second == first
    state.write_text("{}")
    with pytest.raises(BadInput, match="not written by an adapter"):
        _recall(second, str(state))


def test_a_network_in_trouble_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told, adapter = replace(order(tmp_path / "state"), admin=["http://127.0.0.1:9"]), Adapter()
    adapter.pending = planned()
    _end_of_period(adapter, told, TALK, EVIDENCE)
    (trouble,) = said(capfd)
    assert (trouble["period"], "trouble" in trouble) == (1, True)
    assert adapter.pending is None  # it would not rest on two periods running
    assert (tmp_path / "state").exists()


def test_memory_that_cannot_be_kept_or_read_is_said_in_one_line(
    reknit: Reknit, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before anything is watched; and while it runs, it is trouble of that period."""
    (tmp_path / "other").write_text("{}")
    for state, why in ((tmp_path, "Is a directory"), (tmp_path / "no" / "state", "there is no directory")):
        found = reknit("adapt", "--trace", "trace", "--state", str(state))
        assert (found.code, found.err.startswith(f"reknit: --state {state}: {why}")) == (2, True)
    found = reknit("adapt", "--trace", "trace", "--state", str(tmp_path / "other"))
    assert (found.code, f"--state {tmp_path / 'other'}: not written by an adapter" in found.err) == (2, True)
    capfd.readouterr()
    told = replace(order(tmp_path / "no" / "state"), admin=["http://127.0.0.1:9"])
    _end_of_period(Adapter(), told, TALK, EVIDENCE)
    (trouble,) = said(capfd)
    assert trouble["trouble"].endswith(f"; --state {tmp_path / 'no' / 'state'}: No such file or directory")


def planned() -> Plan:
    return make_plan(LINE, TALK, EVIDENCE, Rules())


def test_what_swaps_take_is_reckoned_by_the_tables_of_the_brokers(
    reknit: Reknit, network: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Subscriptions travel with either end: more bytes than small events are worth."""
    adapter, where = Adapter(), [broker["mqtt"].split(":") for broker in network.state["brokers"]]

    async def end_of_period(evidence: Evidence) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for host, port in (where[0], where[2]):
                client = await stack.enter_async_context(connect(host, int(port)))
                for number in range(20):
                    await stack.enter_async_context(client.subscribe(f"a/rather/long/name/{number}"))
            while (await asyncio.to_thread(reknit, "verify-routes")).code:  # noqa: ASYNC110  brokers decide
                await asyncio.sleep(0.1)
            await asyncio.to_thread(_end_of_period, adapter, order(), TALK, evidence)

    small, large = (Evidence(120, 2, 60.0, event_bytes=size) for size in (1, 100))
    asyncio.run(end_of_period(small))
    assert (adapter.pending, said(capfd)[0]["why"]) == (None, "nothing is worth what it takes")
    asyncio.run(end_of_period(large))
    assert adapter.pending is not None
    assert adapter.pending.evidence.subscriptions == 40
    assert adapter.pending.steps[0].bytes > 400
    capfd.readouterr()


def test_how_long_a_link_is_remembered_can_be_said(reknit: Reknit, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[Adapter]()
    monkeypatch.setattr("reknit.cli.adapt._go_on", lambda spark, adapter, order: seen.append(adapter))
    monkeypatch.setattr("reknit.pipeline.session.session", lambda place: contextlib.nullcontext())
    assert reknit("adapt", "--trace", "trace", "--memory", "7").code == 0
    assert reknit("adapt", "--trace", "trace").code == 0
    assert [adapter.patience.memory for adapter in seen] == [7, 100]


def test_a_trace_has_to_be_named(reknit: Reknit) -> None:
    found = reknit("adapt")
    assert (found.code, "--trace" in found.err) == (2, True)


def test_of_a_period_with_gaps_in_the_trace_nothing_is_decided(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is missing in the second is not missing in the third: that one counts."""
    missing = iter((0, 7, 0))
    judged: list[int] = []
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("reknit.cli.adapt._watched", lambda *given: (TALK, EVIDENCE, next(missing)))
    monkeypatch.setattr("reknit.cli.adapt._end_of_period", lambda adapter, *given: judged.append(1))
    spark: Any = None
    _go_on(spark, Adapter(), replace(order(), periods=3))
    assert len(judged) == 2
    (trouble,) = said(capfd)
    assert trouble["trouble"] == "7 records are missing in the trace, as it says itself"
