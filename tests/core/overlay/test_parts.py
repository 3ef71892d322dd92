"""Many patterns in parts: nothing is lost, nothing is done too early, and nobody fills the memory."""

from __future__ import annotations

import pytest

from reknit.core.overlay import parts
from reknit.core.overlay.change import make_change
from reknit.core.overlay.parts import PART_PATTERNS_MAX, Parts, held_parts, rec_parts
from reknit.model.pattern import Pattern

CHANGE = make_change("1", "path", ["a"], ["d", "b"])


def _patterns(count: int) -> list[Pattern]:
    return [Pattern.parse(f"p{number}") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, PART_PATTERNS_MAX, PART_PATTERNS_MAX + 1, 500])
def test_the_whole_comes_with_the_last_part(count: int) -> None:
    add, delete = _patterns(count), _patterns(count // 2)
    sent, got = list(rec_parts(CHANGE, add, delete, b"d")), Parts()
    assert all(len(part.add) + len(part.delete) <= PART_PATTERNS_MAX for part in sent)
    assert [got.rec("a", part) for part in sent[:-1]] == [None] * (len(sent) - 1)
    whole = got.rec("a", sent[-1])
    assert whole is not None
    assert (whole.add, whole.delete, whole.digest) == (add, delete, b"d")


@pytest.mark.parametrize("count", [0, 1, 500])
def test_an_answer_in_parts(count: int) -> None:
    sent, got = list(held_parts("1", _patterns(count))), Parts()
    assert [got.held("a", part) for part in sent[:-1]] == [None] * (len(sent) - 1)
    whole = got.held("a", sent[-1])
    assert whole is not None
    assert whole.patterns == _patterns(count)


def test_parts_of_two_senders_are_kept_apart_and_those_of_one_that_began_anew_are_void() -> None:
    sent, got = list(rec_parts(CHANGE, _patterns(100), [], b"")), Parts()
    got.rec("a", sent[0])
    got.rec("b", sent[0])
    got.forget("a")
    alone, both = got.rec("a", sent[1]), got.rec("b", sent[1])
    assert alone is not None
    assert both is not None
    assert (len(alone.add), len(both.add)) == (36, 100)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "WHOLE_PATTERNS_MAX", 100)
    got = Parts()
    for part in list(rec_parts(CHANGE, _patterns(640), [], b""))[:-1]:
        got.rec("a", part)
    for part in list(held_parts("1", _patterns(640)))[:-1]:
        got.held("a", part)
    kept = [*(len(each.add) for each in got._recs.values()), *(len(each.patterns) for each in got._helds.values())]
    assert all(count <= 100 for count in kept)
