"""Few patterns that cover, overlap and miss each other, and events for them."""

from __future__ import annotations

from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = ["CLIENTS", "NEIGHBOURS", "events", "patterns"]

_FILTERS = ("#", "a/#", "a/+", "+/b", "a/b", "b")
_SELECTORS = ("", "", "x > 3", "x >= 5", "x = 4", "x IN (1, 3, 5)", "c = 'red'", "x > 3 AND c = 'red'", "x + x > 7")

PATTERNS = [Pattern.parse(topic, selector) for topic in _FILTERS for selector in dict.fromkeys(_SELECTORS)]
NEIGHBOURS = ("m", "n", "o")
CLIENTS = ("ann", "ben")

patterns = st.sampled_from(PATTERNS)
_attributes = st.fixed_dictionaries({}, optional={"x": st.integers(0, 9), "c": st.sampled_from(["red", "green"])})
events = st.builds(
    lambda topic, attributes: Event(topic, attributes=attributes, source="s", seq=1),
    st.sampled_from(["a", "a/b", "a/c", "b", "c/b", "$s"]),
    _attributes,
)
