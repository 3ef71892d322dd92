"""The grammar: a fault names its place; and a broker that has no selector to read does not load it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from reknit.model.selector.reading import Fault, read
from reknit.model.selector.syntax import Comparison, Name, Number

LOADED = """
import sys
import reknit.core.broker
from reknit.model.selector import parse
print("lark" in sys.modules)
parse("a = 1")
print("lark" in sys.modules)
"""


def test_a_text_becomes_a_tree() -> None:
    assert read("a = 1") == Comparison("=", Name("a"), Number(1))


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("a = ", 3, "it ends too early"),
        ("a = 1 2", 6, "'2' is out of place"),
        ("a = #", 4, "has no meaning here"),
        ("a = 'x", 4, "has no closing"),
        ("a < 'x'", 4, "is for numbers only"),
        ("a = 1 AND 2", 10, "a condition is needed here"),
    ],
)
def test_a_fault_names_its_place(text: str, at: int, why: str) -> None:
    with pytest.raises(Fault, match=why) as caught:
        read(text)
    assert (caught.value.at, why in caught.value.why) == (at, True)


def test_the_grammar_is_loaded_with_the_first_selector() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]
