"""Every content is matched once, by the plain evaluation."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.pipeline.matching import Matcher

PATTERNS = [Pattern.parse("a/#"), Pattern.parse("a/b", "n >= 3"), Pattern.parse("+/b", "s = 'x'"), Pattern.parse("c")]


def test_patterns_are_found_by_topic_and_content() -> None:
    matcher = Matcher(PATTERNS)
    assert matcher.match("a/b", '{"n":3,"s":"x"}', None, None) == [0, 1, 2]
    assert matcher.match("a/b", '{"n":2}', '[["s","x"]]', None) == [0, 2]
    assert matcher.match("a/b", None, None, '{"n":3.5}') == [0, 1]
    assert matcher.match("a/b", '{"n":{"float":"nan"}}', None, None) == [0]
    assert matcher.match("z", None, None, None) == []
