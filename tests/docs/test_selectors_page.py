"""The selectors' page: every line of its tables, every error and every form that it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reknit.model.event import Attributes, Text
from reknit.model.selector import BadSelector, canonical_text, evaluate, parse
from reknit.model.selector.parse import SELECTOR_CHARS_MAX, SELECTOR_NESTING_MAX, SELECTOR_TERMS_MAX

PAGE = (Path(__file__).parents[2] / "docs" / "selectors.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| `(.+)` \| `(.+)` \| (true|false|unknown) \|$", PAGE, re.MULTILINE)
ERRORS = re.findall(r"```error\n(.+)\n((?:.+\n)+)```", PAGE)
FORMS = re.findall(r"```canonical\n(.+)\n(.+)\n```", PAGE)


def _attributes(event: str) -> Attributes:
    if event.startswith("{"):
        attributes: Attributes = json.loads(event)
        return attributes
    name, _, value = event.partition("=")
    return {name: Text(value)}


@pytest.mark.parametrize(("selector", "event", "truth"), LINES)
def test_a_line_of_a_table(selector: str, event: str, truth: str) -> None:
    assert evaluate(parse(selector), _attributes(event)) is {"true": True, "false": False, "unknown": None}[truth]


@pytest.mark.parametrize(("selector", "message"), ERRORS)
def test_an_error(selector: str, message: str) -> None:
    with pytest.raises(BadSelector) as caught:
        parse(selector)
    assert str(caught.value) == message.rstrip("\n")


@pytest.mark.parametrize(("selector", "form"), FORMS)
def test_a_form(selector: str, form: str) -> None:
    assert canonical_text(selector) == form


def test_nothing_on_the_page_is_left_out() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(LINES) == len(rows) >= 40
    assert len(ERRORS) == PAGE.count("```error") > 0
    assert len(FORMS) == PAGE.count("```canonical") > 0


def test_the_bounds_are_the_real_ones() -> None:
    said = (
        f"{SELECTOR_CHARS_MAX:,} characters, {SELECTOR_TERMS_MAX} names and literals, and {SELECTOR_NESTING_MAX} levels"
    )
    assert said in PAGE
