"""Bad rows set aside, with the reason, and counted.

Owns: how a row is found bad and what is kept of it. Must not know: what the rules of a flow are.

A row that breaks several rules counts for the first. Where a rule cannot be decided for a row (SQL's unknown), the row
is not bad by it; so whoever wants missing values out has a rule that says so, before the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.pipeline.flow import Rule, columns

__all__ = ["BAD_ROWS", "bad_rows", "clean_rows", "count_reasons", "mark"]

_REASON = "__reason"

BAD_ROWS = columns(input="string", reason="string", row="string")
"""What is kept of a bad row: where it came from, why it is bad, and all its values as JSON."""


def mark(rows: DataFrame, rules: Sequence[Rule]) -> DataFrame:
    """The same rows, each with the reason why it is bad, or null."""
    reasons = [F.when(rule.bad, F.lit(rule.reason)) for rule in rules]
    return rows.withColumn(_REASON, F.coalesce(*reasons, F.lit(None).cast("string")))


def clean_rows(marked: DataFrame) -> DataFrame:
    return marked.where(F.col(_REASON).isNull()).drop(_REASON)


def bad_rows(marked: DataFrame, name: str) -> DataFrame:
    values = [each for each in marked.columns if each != _REASON]
    return marked.where(F.col(_REASON).isNotNull()).select(
        F.lit(name).alias("input"), F.col(_REASON).alias("reason"), F.to_json(F.struct(*values)).alias("row")
    )


def count_reasons(marked: DataFrame) -> dict[str, int]:
    """How many rows are bad for each reason; those that are not, under an empty one."""
    counted = marked.groupBy(_REASON).agg(F.count(F.lit(1)).alias("rows")).collect()
    return {row[_REASON] or "": row["rows"] for row in counted}
