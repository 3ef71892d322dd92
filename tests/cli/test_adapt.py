"""``reknit adapt``, from the end of a period on: what it decides, and that a network that runs is changed by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reknit.cli.adapt import _end_of_period, _go_on, _Order, _recall
from reknit.planning.adapt import Adapter, BadMemory
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence

Reknit = Callable[..., Any]
LINE = [("b1", "b2"), ("b2", "b3")]
TALK = [Flow(("b1", "b3"), 100), Flow(("b2", "b3"), 20)]
EVIDENCE = Evidence(120, 2, 60.0)


def order(state: Path | None = None) -> _Order:
    return _Order("trace", "tables", str(state or ""), 1.0, 0, dry_run=False, admin=[], as_json=True)


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def said(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_what_pays_in_two_periods_is_carried_out_and_can_be_undone(
    reknit: Reknit, network: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    adapter = Adapter()
    _end_of_period(adapter, order(), TALK, EVIDENCE)
    assert links(reknit) == LINE
    _end_of_period(adapter, order(), TALK, EVIDENCE)
    decided, done = said(capfd)
    assert (decided["period"], decided["events"], decided["crossings"]) == (2, 120, 220)
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
    with pytest.raises(BadMemory, match="not written by an adapter"):
        _recall(second, str(state))


def test_a_network_in_trouble_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told = replace(order(), admin=["http://127.0.0.1:9"])
    _end_of_period(Adapter(), told, TALK, EVIDENCE)
    (trouble,) = said(capfd)
    assert "trouble" in trouble


def test_a_trace_has_to_be_named(reknit: Reknit) -> None:
    found = reknit("adapt")
    assert (found.code, "--trace" in found.err) == (2, True)


def test_of_a_period_with_gaps_in_the_trace_nothing_is_decided(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is missing was missing before in the third: that one counts."""
    missing = iter((0, 7, 7))
    judged: list[int] = []
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("reknit.cli.adapt._watched", lambda *given: (TALK, EVIDENCE, next(missing)))
    monkeypatch.setattr("reknit.cli.adapt._end_of_period", lambda adapter, *given: judged.append(1))
    spark: Any = None
    _go_on(spark, Adapter(), replace(order(), periods=3))
    assert len(judged) == 2
    (trouble,) = said(capfd)
    assert trouble["trouble"] == "7 records are missing in the trace, as it says itself"
