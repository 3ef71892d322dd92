"""A flow, run: read, set aside what is bad, make each step, account for every row, write.

Owns: the order of things, and that no row gets lost without the run failing. Must not know: any flow, or where the
session is from.

Each step that is kept is written, counted meanwhile, and read back by those that need it, so that nothing is computed
twice. The report is written last: a directory without one is not a result.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.charts import draw
from reknit.pipeline.flow import BadFlow, Flow, Gaps, Input, Parameters, Step, same_columns
from reknit.pipeline.quarantine import BAD_ROWS, bad_rows, clean_rows, count_parts, mark
from reknit.pipeline.read import look, no_rows, not_of_type, read_files
from reknit.pipeline.report import InputReport, Report, StepReport, balance, refuse_gaps

__all__ = ["QUARANTINE", "REPORT", "Order", "check_inputs", "chosen", "counts_of", "is_remote", "run_flow"]

QUARANTINE = "quarantine"
REPORT = "report.json"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run, on what, and where the results go."""

    flow: Flow
    parameters: Parameters
    inputs: Mapping[str, str]
    """Name to path, as Spark sees it."""
    out: str
    whole: bool = False
    """Whether to read every file to its end first, to set damaged ones aside."""
    only: tuple[str, ...] = ()
    """Make these tables, and those that they need; all of the flow's if it is empty."""
    allow_gaps: bool = False
    """Whether to go on where the source of an input says that rows are missing in it."""
    newer_than: float = 0.0
    """Files that were written before are left out, in seconds since 1970: what is wanted cannot be in them."""


def run_flow(spark: SparkSession, order: Order, progress: Progress = lambda what: None) -> Report:
    """Run it. ``BadFlow`` if it was given something it cannot use, ``RowsLost`` if rows are not accounted for."""
    check_inputs(order)
    if not is_remote(order.out):
        _forget_report(order.out)
    run = _Run(spark, order, progress, chosen(order))
    for each in order.flow.inputs:
        run.read(each)
    for step in run.chosen:
        run.make(step)
    report = run.report()
    _write_report(spark, report, order)
    return report


def chosen(order: Order) -> list[Step]:
    """The steps that are asked for, in the flow's order; ``BadFlow`` names one that there is not."""
    steps = {step.name: step for step in order.flow.steps}
    if unknown := [name for name in order.only if name not in steps]:
        raise BadFlow(f"{order.flow.name} has no table {unknown[0]}; it has: {', '.join(steps)}")
    wanted = dict.fromkeys(order.only or steps)
    for step in reversed(order.flow.steps):
        if step.name in wanted:
            wanted |= dict.fromkeys(step.needs)
    return [step for step in order.flow.steps if step.name in wanted]


def check_inputs(order: Order) -> None:
    known = [each.name for each in order.flow.inputs]
    unknown = [name for name in order.inputs if name not in known]
    if unknown:
        raise BadFlow(f"{order.flow.name} has no input {unknown[0]}; it has: {', '.join(known)}")
    missing = [each.name for each in order.flow.inputs if not each.optional and each.name not in order.inputs]
    if missing:
        raise BadFlow(f"{order.flow.name} needs an input: --input {missing[0]}=PATH")


@dataclass(slots=True)
class _Run:
    spark: SparkSession
    order: Order
    progress: Progress
    chosen: list[Step]
    tables: dict[str, DataFrame | None] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    """By step that is about a part of its first table: how many rows that part has."""
    inputs: list[InputReport] = field(default_factory=list)
    steps: list[StepReport] = field(default_factory=list)

    # --- in

    def read(self, each: Input) -> None:
        if each.name not in self.order.inputs:
            self.tables[each.name] = None
            return
        path = self.order.inputs[each.name]
        self.progress(f"reading {each.name}")
        files = look(self.spark, path, self.order.whole, self.order.newer_than)
        rows, files = read_files(self.spark, files, each.schema, f"{each.name} at {path}")
        rules = (*not_of_type(rows, each.schema), *each.rules(self.order.parameters))
        marked = mark(rows, rules)
        parts = self._parts(each.name)
        gap = each.gaps.rows() if each.gaps else F.lit(False)
        counted = count_parts(marked, [gap, *parts.values()])
        clean, _, *taken = counted.get("", [0] * (2 + len(parts)))
        self.taken |= dict(zip(parts, taken, strict=True))
        bad = {rule.reason: counted[rule.reason][0] for rule in rules if rule.reason in counted}
        broken = {broken.path: broken.problem for broken in files.broken}
        missing = _missing(rows, each.gaps) if each.gaps and any(counts[1] for counts in counted.values()) else {}
        report = InputReport(each.name, path, len(files.sound) + len(broken), broken, files.rows, clean, bad, missing)
        report.check()
        if not self.order.allow_gaps:
            refuse_gaps(each.name, missing)
        self.inputs.append(report)
        # Written even if empty: what a run before this one has set aside must not pass for ours.
        aside = bad_rows(marked, each.name) if bad else no_rows(self.spark, BAD_ROWS)
        self._write(aside, f"{QUARANTINE}/{each.name}")
        self.tables[each.name] = clean_rows(marked)
        self.rows[each.name] = report.clean

    # --- out

    def make(self, step: Step) -> None:
        self.progress(f"making {step.name}")
        made = step.transform(self.order.parameters, *(self.tables[name] for name in step.needs))
        if not same_columns(made.schema, step.schema):
            raise BadFlow(f"{step.name} is {made.schema.simpleString()}, not {step.schema.simpleString()}")
        parts = {name: F.count_if(part).alias(f"of {name}") for name, part in self._parts(step.name).items()}
        counts = [*counts_of(step), *parts.values()]
        if step.kept:
            seen = Observation()  # counted as it is written: to read it again would be another job
            self._write(made.observe(seen, *counts), step.name, step.by)
            made = self.spark.read.schema(step.schema).parquet(self._path(step.name))
            self._account(step, seen.get)
        elif step.carries or parts:
            self._account(step, made.agg(*counts).collect()[0].asDict())
        self.tables[step.name] = made

    def _parts(self, table: str) -> dict[str, Column]:
        """By step that is about a part of this table: which part. They are counted when the table is."""
        steps = [step for step in self.chosen if step.takes is not None and step.needs[:1] == (table,)]
        return {step.name: step.takes.rows(self.order.parameters) for step in steps if step.takes is not None}

    def _account(self, step: Step, counted: dict[str, Any]) -> None:
        self.taken |= {name: counted[f"of {name}"] for name in self._parts(step.name)}
        stands_for = (counted["carried"] or 0) if step.carries else None
        left = self._left_out(step)
        reasons = {reason: rows for (_, reason), rows in left.items()}
        report = StepReport(step.name, counted["rows"], stands_for, step.takes.name if step.takes else "", reasons)
        if step.needs and step.needs[0] in self.rows:
            first = step.needs[0]
            out = sum(rows for (table, _), rows in left.items() if table == first)
            balance(report, self.taken.get(step.name, self.rows[first]), first, out)
        self.rows[step.name] = report.rows
        self.steps.append(report)

    def _left_out(self, step: Step) -> dict[tuple[str, str], int]:
        """By table and reason."""
        if step.leaves is None:
            return {}
        left = step.leaves(self.order.parameters, *(self.tables[name] for name in step.needs))
        rows = left.where(F.col("rows") > 0).orderBy("table", "reason").collect()
        return {(row["table"], row["reason"]): row["rows"] for row in rows}

    def _write(self, rows: DataFrame, name: str, by: tuple[str, ...] = ()) -> None:
        rows.write.mode("overwrite").partitionBy(*by).parquet(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self.order.out.rstrip('/')}/{name}"

    def report(self) -> Report:
        flow = self.order.flow
        for chart in flow.charts:
            if (table := self.tables.get(chart.table)) is not None and not is_remote(self.order.out):
                self.progress(f"drawing {chart.name}")
                rows = table.select(chart.label, chart.value).collect()
                draw(chart, [(str(row[0]), float(row[1])) for row in rows], os.path.join(self.order.out, chart.name))
        parameters = msgspec.to_builtins(self.order.parameters)
        return Report(flow.name, parameters, self.inputs, self.steps, self.spark.version)


def _missing(rows: DataFrame, gaps: Gaps) -> dict[str, int]:
    """By whose they are. Who says that something is missing, and not how much, lacks one row at least."""
    many = F.greatest(F.coalesce(F.col(gaps.many), F.lit(1)), F.lit(1))
    by = rows.where(gaps.rows()).groupBy(gaps.who).agg(F.sum(many).alias("many")).orderBy(gaps.who)
    return {str(row[gaps.who] or ""): int(row["many"]) for row in by.collect()}


def counts_of(step: Step) -> list[Column]:
    """What is counted of a table as it is written: its rows, and those that they stand for."""
    carried = F.sum(F.expr(step.carries)) if step.carries else F.lit(0)
    return [F.count(F.lit(1)).alias("rows"), carried.cast("long").alias("carried")]


def is_remote(path: str) -> bool:
    """Whether it is a place that this process cannot write to by itself."""
    return re.match(r"[a-z0-9+.-]+:/", path) is not None


def _forget_report(out: str) -> None:
    """Before anything of it is overwritten."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(os.path.join(out, REPORT))


def _write_report(spark: SparkSession, report: Report, order: Order) -> None:
    text = msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    if is_remote(order.out):
        written = spark.createDataFrame([(text,)], "value string")
        written.coalesce(1).write.mode("overwrite").text(f"{order.out.rstrip('/')}/{REPORT}")
        return
    os.makedirs(order.out, exist_ok=True)
    with open(os.path.join(order.out, REPORT), "w", encoding="utf-8") as file:
        file.write(text + "\n")
