"""Recent selectors are kept, and no more than so many."""

from __future__ import annotations

import pytest

from reknit.model.selector import recent
from reknit.model.selector.parse import BadSelector
from reknit.model.selector.recent import canonical_text, condition_of, matcher_of


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
