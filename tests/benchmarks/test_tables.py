"""The bench of tables: two rows for each case, and what a peer should not keep would show."""

from __future__ import annotations

from typing import Any

import pytest

from bench import tables
from reknit.community.peer import Peer

CASE = tables._Case("structured", 6, 1)


@pytest.fixture(scope="module")
def peers() -> list[Peer]:
    return tables._members(CASE)


def rows(peers: list[Peer], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(tables, "_members", lambda case: peers)
    return tables._rows(CASE, quick=False)


def test_real_tables_are_within_their_theory_and_all_else_within_its_bounds(
    peers: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    known, rest = rows(peers, monkeypatch)
    assert known.measured >= known.at_least
    assert rest.measured >= rest.at_least
    assert "kept for all: " in rest.note
    assert max(map(tables._kept, peers)) >= CASE.members, "who has the key has all"


def test_what_grows_beyond_its_bound_is_seen(peers: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_rest", lambda peer: 1000)
    assert rows(peers, monkeypatch)[1].measured < 1.0
    monkeypatch.setattr(tables, "_tables", lambda peer: 30)
    known, _ = rows(peers, monkeypatch)
    assert known.measured < known.at_least


def test_a_hundred_thousand_are_measured_by_both_if_they_are_asked_for() -> None:
    asked = [case.membership for case in tables.CASES if case.members == 100_000 and case.if_asked]
    assert asked == ["scamp", "structured"]
