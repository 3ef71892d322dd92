"""Recent selectors are kept, and no more than so many."""

from __future__ import annotations

import pytest

from reknit.model.selector import recent
from reknit.model.selector.parse import BadSelector
from reknit.model.selector.recent import canonical_text, condition_of, matcher_of
from reknit.model.selector.syntax import Condition


def test_the_same_text_is_parsed_once() -> None:
    assert condition_of("x > 7411") is condition_of("x > 7411")
    assert matcher_of("x > 7411") is matcher_of("x > 7411")


def test_what_is_true_for_every_event_is_the_empty_text() -> None:
    assert canonical_text("") == canonical_text("TRUE") == ""


def test_old_ones_are_let_go_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "RECENT_MAX", 3)
    first = condition_of("x = 990001")
    for number in range(990_002, 990_010):
        condition_of(f"x = {number}")
    again = condition_of("x = 990001")
    assert again == first
    assert again is not first


def test_what_is_no_selector_is_not_kept_either() -> None:
    for _ in range(2):
        with pytest.raises(BadSelector):
            canonical_text("x >")


def _count_readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are read from now on."""
    read: list[str] = []

    def parse(text: str) -> Condition:
        read.append(text)
        return recent_parse(text)

    recent_parse = recent.parse
    monkeypatch.setattr(recent, "parse", parse)
    return read


def test_that_a_text_is_canonical_is_known_long_after_its_tree_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that travels holds more selectors than trees are kept: to read them all again takes seconds."""
    monkeypatch.setattr(recent, "RECENT_MAX", 3)
    forms = [canonical_text(f"x>={number}") for number in range(880_000, 880_050)]
    read = _count_readings(monkeypatch)
    assert [canonical_text(form) for form in forms] == forms
    assert read == []
    assert canonical_text("x>=880000") == forms[0] != "x>=880000"
    assert read  # what is not canonical is no better known than before


def test_of_too_many_the_oldest_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "RECENT_MAX", 1)
    monkeypatch.setattr(recent, "KNOWN_MAX", 4)
    monkeypatch.setattr(recent, "_known", recent._Known())
    forms = [canonical_text(f"x >= {number}") for number in range(870_000, 870_006)]
    read = _count_readings(monkeypatch)
    assert [canonical_text(form) for form in forms[2:]] == forms[2:]
    assert read == []
    assert canonical_text(forms[0]) == forms[0]
    assert read == [forms[0]]
