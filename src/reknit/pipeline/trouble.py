"""What Spark says when something has gone wrong, in one line.

Owns: which of its many lines that is. Must not know: what was being done, or what is done about it.

An error of Spark's comes with the stacks of two languages. What a person can use of it is its condition, by which it
can be looked up, and the first sentence; of an error that a worker has raised in Python, the last line of its stack.
"""

from __future__ import annotations

import re

__all__ = ["trouble"]

CHARACTERS_MAX = 300
_PYTHON = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Lost|Flow|Java)(?:: .*)?)$", re.MULTILINE)
_NAMED = re.compile(r"\[[A-Z][A-Z_0-9.]+\] .+")
_CAUSE = re.compile(r"^Caused by: (.+)$", re.MULTILINE)


def trouble(error: Exception) -> str:
    """One line, of an error of ``pyspark`` or ``py4j``."""
    text = str(error)
    raised = _PYTHON.findall(text) if "Traceback (most recent call last)" in text else []
    causes = _CAUSE.findall(text)
    named = _NAMED.search(text)
    said = raised[-1] if raised else named[0] if named else _first_line(text)
    because = f"; because of {causes[-1]}" if causes and causes[-1] not in said else ""
    condition = _condition(error)
    first = f"[{condition}] " if condition and not said.startswith("[") else ""
    return " ".join(f"Spark has failed: {first}{said}{because}".split())[:CHARACTERS_MAX]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "it does not say why")


def _condition(error: Exception) -> str:
    """By which Spark's documentation knows it, if it has one."""
    told = getattr(error, "getCondition", None)
    return (told() or "") if told is not None else ""
