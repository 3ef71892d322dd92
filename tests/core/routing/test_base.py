"""Lists of patterns in messages of bounded size: nothing lost, nothing reordered, and the end is marked once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reknit.core.routing import base
from reknit.core.routing.base import chunks
from reknit.core.routing.global_table import GlobalTable
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Message, Snapshot


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 25), max_size=6))
def test_a_snapshot_goes_in_parts_and_comes_together_again(monkeypatch: pytest.MonkeyPatch, sizes: list[int]) -> None:
    monkeypatch.setattr(base, "MESSAGE_PATTERNS_MAX", 10)
    said: list[Message] = []
    speaker = GlobalTable(Turn("a", False), lambda to, what: said.append(what))
    wishes = {f"o{number}": [Pattern(f"t/{each}") for each in range(size)] for number, size in enumerate(sizes)}
    speaker.replace("m", list(wishes.items()))
    speaker.tell("n")
    parts = [message for message in said if isinstance(message, Snapshot)]
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert all(sum(len(patterns) for _, patterns in part.entries) <= 10 for part in parts)
    heard: dict[str, list[Pattern]] = {}
    for part in parts:
        for origin, patterns in part.entries:
            heard.setdefault(origin, []).extend(patterns)
    assert heard == {origin: patterns for origin, patterns in wishes.items() if patterns}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 60))
def test_chunks_keep_the_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(base, "MESSAGE_PATTERNS_MAX", 10)
    patterns = [Pattern(f"t/{number}") for number in range(count)]
    pieces = list(chunks(patterns))
    assert [each for piece in pieces for each in piece] == patterns
    assert all(0 < len(piece) <= 10 for piece in pieces)
