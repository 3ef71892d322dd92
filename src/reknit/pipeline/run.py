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
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.charts import draw
from reknit.pipeline.flow import BadFlow, Flow, Input, Parameters, Step, same_columns
from reknit.pipeline.quarantine import BAD_ROWS, bad_rows, clean_rows, count_reasons, mark
from reknit.pipeline.read import look, no_rows, read_table
from reknit.pipeline.report import InputReport, Report, StepReport, balance

__all__ = ["QUARANTINE", "REPORT", "Order", "run_flow"]

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


def run_flow(spark: SparkSession, order: Order, progress: Progress = lambda what: None) -> Report:
    """Run it. ``BadFlow`` if it was given something it cannot use, ``RowsLost`` if rows are not accounted for."""
    _check_inputs(order)
    if not is_remote(order.out):
        _forget_report(order.out)
    run = _Run(spark, order, progress)
    for each in order.flow.inputs:
        run.read(each)
    for step in _chosen(order):
        run.make(step)
    report = run.report()
    _write_report(spark, report, order)
    return report


def _chosen(order: Order) -> list[Step]:
    """The steps that are asked for, in the flow's order; ``BadFlow`` names one that there is not."""
    steps = {step.name: step for step in order.flow.steps}
    if unknown := [name for name in order.only if name not in steps]:
        raise BadFlow(f"{order.flow.name} has no table {unknown[0]}; it has: {', '.join(steps)}")
    wanted = dict.fromkeys(order.only or steps)
    for step in reversed(order.flow.steps):
        if step.name in wanted:
            wanted |= dict.fromkeys(step.needs)
    return [step for step in order.flow.steps if step.name in wanted]


def _check_inputs(order: Order) -> None:
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
    tables: dict[str, DataFrame | None] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    inputs: list[InputReport] = field(default_factory=list)
    steps: list[StepReport] = field(default_factory=list)

    # --- in

    def read(self, each: Input) -> None:
        if each.name not in self.order.inputs:
            self.tables[each.name] = None
            return
        path = self.order.inputs[each.name]
        self.progress(f"reading {each.name}")
        files = look(self.spark, path, self.order.whole)
        rows = read_table(self.spark, files, each.schema, f"{each.name} at {path}")
        rules = each.rules(self.order.parameters)
        marked = mark(rows, rules)
        counted = count_reasons(marked)
        bad = {rule.reason: counted[rule.reason] for rule in rules if rule.reason in counted}
        broken = {broken.path: broken.problem for broken in files.broken}
        report = InputReport(
            each.name, path, len(files.sound) + len(broken), broken, files.rows, counted.get("", 0), bad
        )
        report.check()
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
        counts = [F.count(F.lit(1)).alias("rows"), F.sum(step.carries or F.lit(0)).cast("long").alias("carried")]
        if step.kept:
            seen = Observation()  # counted as it is written: to read it again would be another job
            self._write(made.observe(seen, *counts), step.name, step.by)
            made = self.spark.read.schema(step.schema).parquet(self._path(step.name))
            self._account(step, seen.get)
        elif step.carries:
            self._account(step, made.agg(*counts).collect()[0].asDict())
        self.tables[step.name] = made

    def _account(self, step: Step, counted: dict[str, Any]) -> None:
        stands_for = (counted["carried"] or 0) if step.carries else None
        report = StepReport(step.name, counted["rows"], stands_for)
        if step.needs and step.needs[0] in self.rows:
            balance(report, self.rows[step.needs[0]], step.needs[0])
        self.rows[step.name] = report.rows
        self.steps.append(report)

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
