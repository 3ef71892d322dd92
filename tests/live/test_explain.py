"""What is wrong with a file is said in words: key, what is wanted, what else there could be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from reknit.live.explain import explain


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    many: Annotated[int, Meta(ge=1, le=9)] = 1
    long_s: Annotated[float, Meta(gt=0)] = 1.0
    colour: Literal["red", "blue"] = "red"


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    one: Inner = msgspec.field(default_factory=Inner)
    listed: list[Inner] = []
    fixed: tuple[Inner, ...] = ()


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({"two": 1}, "top level: unknown key 'two'; allowed: fixed, listed, one"),
        ({"one": {"x": 1}}, "one: unknown key 'x'; allowed: colour, long_s, many"),
        ({"listed": [{"x": 1}]}, "listed[0]: unknown key 'x'; allowed: colour, long_s, many"),
        ({"fixed": [{}, {"x": 1}]}, "fixed[1]: unknown key 'x'; allowed: colour, long_s, many"),
        ({"one": {"many": 0}}, "one.many: a whole number of at least 1 is wanted"),
        ({"one": {"many": 10}}, "one.many: a whole number of at most 9 is wanted"),
        ({"one": {"long_s": 0.0}}, "one.long_s: a number above 0.0 is wanted"),
        ({"one": {"colour": "green"}}, "one.colour: Invalid enum value 'green'; allowed: blue, red"),
        ({"one": {"many": "x"}}, "one.many: Expected `int`, got `str`"),
    ],
)
def test_one_line(document: dict[str, Any], line: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(document, Outer)
    assert explain(str(caught.value), Outer) == line
