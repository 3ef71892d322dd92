"""The condition language of selectors: text, tree, truth.

Owns: the language (``grammar.lark``), its tree (``syntax``), reading (``parse``, ``reading``), meaning (``evaluate``,
``like``), the one form that equal selectors share (``canonical``) and what is kept of recent ones (``recent``). Must
not know: topics, patterns, or how many selectors there are.
"""

from __future__ import annotations

from reknit.model.selector.canonical import canonical, unparse
from reknit.model.selector.evaluate import evaluate, matcher
from reknit.model.selector.parse import BadSelector, parse
from reknit.model.selector.recent import canonical_text, condition_of, matcher_of

__all__ = [
    "BadSelector",
    "canonical",
    "canonical_text",
    "condition_of",
    "evaluate",
    "matcher",
    "matcher_of",
    "parse",
    "unparse",
]
