"""Bad rows set aside, with the reason, and counted.

Owns: how a row is found bad and what is kept of it. Must not know: what the rules of a flow are.

A row that breaks several rules counts for the first. Where a rule cannot be decided for a row (SQL's unknown), the row
is not bad by it; so whoever wants missing values out has a rule that says so, before the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.pipeline.flow import Rule, columns

__all__ = ["AS_READ", "BAD_ROWS", "bad_rows", "clean_rows", "count_parts", "count_reasons", "mark"]

_REASON = "__reason"
AS_READ = "as_read"
"""A column that rows may have: of values which are none of their column's type, what stands in the file, by column."""

BAD_ROWS = columns(input="string", reason="string", row="string")
"""What is kept of a bad row: where it came from, why it is bad, and all its values as JSON."""


def mark(rows: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The same rows, each with the reason why it is bad, or null."""
    reasons = [F.when(rule.bad, F.lit(rule.reason)) for rule in rules]
    return rows.withColumn(_REASON, F.coalesce(*reasons, F.lit(None).cast("string")))


def clean_rows(marked: DataFrame) -> DataFrame:
    return marked.where(F.col(_REASON).isNull()).drop(_REASON, AS_READ)


def bad_rows(marked: DataFrame, name: str) -> DataFrame:
    values = [each for each in marked.columns if each != _REASON]
    return marked.where(F.col(_REASON).isNotNull()).select(
        F.lit(name).alias("input"), F.col(_REASON).alias("reason"), F.to_json(F.struct(*values)).alias("row")
    )


def count_reasons(marked: DataFrame) -> dict[str, int]:
    """How many rows are bad for each reason; those that are not, under an empty one."""
    return {reason: counts[0] for reason, counts in count_parts(marked, ()).items()}


def count_parts(marked: DataFrame, parts: Sequence[Column]) -> dict[str, list[int]]:
    """By reason, as ``count_reasons``: how many rows there are, and for how many of them each of ``parts`` holds."""
    counts = [F.count(F.lit(1)), *(F.count_if(part) for part in parts)]
    named = [each.alias(f"part {number}") for number, each in enumerate(counts)]
    return {row[_REASON] or "": list(row)[1:] for row in marked.groupBy(_REASON).agg(*named).collect()}
