"""What a flow is: frozen data that says what comes in, what is made of it, and what goes out.

Owns: the shape of a description, and what makes one sound. Must not know: how a flow is run (see ``run``), or any flow.
A description can be read, listed and tested without a session.

A flow reads *inputs*, each with the *rules* that say which of its rows are bad, and makes *steps* one after the other.
A step's transform takes the tables that it needs and returns one, and closes with the select that is its schema.

Rows are accounted for. Each step may name a column that says how many rows of the first table it needs one of its own
rows stands for; then the sum of that column must be the number of those rows, or the run fails. So a join that drops
what it finds no partner for cannot pass for a result. A step that is about a part of those rows says which (``takes``),
and rows that it leaves out on purpose are counted, by their reason (``leaves``): what it stands for and what it leaves
out must be that part. An input whose source knows that rows are missing in it says how to see that (``gaps``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

__all__ = [
    "LEFT_OUT",
    "BadFlow",
    "Bars",
    "Flow",
    "Gaps",
    "Input",
    "Layout",
    "Parameter",
    "Parameters",
    "Part",
    "Rule",
    "Step",
    "columns",
    "parameters_of",
    "read_parameters",
    "same_columns",
    "told",
]

KINDS: dict[str, DataType] = {
    "bool": BooleanType(),
    "short": ShortType(),
    "int": IntegerType(),
    "long": LongType(),
    "double": DoubleType(),
    "string": StringType(),
    "ints": ArrayType(IntegerType()),
    "strings": ArrayType(StringType()),
    "timestamp": TimestampType(),
}


def columns(**kinds: str) -> StructType:
    """A schema: names of columns to kinds of values."""
    return StructType([StructField(name, KINDS[kind]) for name, kind in kinds.items()])


def same_columns(found: StructType, wanted: StructType) -> bool:
    """Names, order and types; whether a column may be null is the data's affair, and files do not keep it."""
    return found.simpleString() == wanted.simpleString()


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a flow can be told. Each flow has a subclass, whose fields have defaults."""


def told(what: str) -> msgspec.Meta:
    """What a parameter means, beside its type."""
    return msgspec.Meta(description=what)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    default: Any
    about: str


def parameters_of(flow: Flow) -> list[Parameter]:
    """What the flow can be told, for people."""
    found = []
    for field in msgspec.structs.fields(flow.parameters):
        notes = getattr(field.type, "__metadata__", ())
        about = next((note.description for note in notes if isinstance(note, msgspec.Meta)), "")
        found.append(Parameter(field.encode_name, field.default, about or ""))
    return found


class BadFlow(ValueError):
    """What a flow was told, or was given to read, does not fit it."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Rule:
    """What is wrong with a row for which ``bad`` is true."""

    reason: str
    bad: Column


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of a table."""

    name: str
    """For people: what these rows are."""
    rows: Callable[[Any], Column]
    """From the parameters, inside a session: whether a row is one of them."""


LEFT_OUT = columns(table="string", reason="string", rows="long")
"""Rows of a table that a step needs which are not in its own, by the reason."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Rows by which a source itself says that others are missing."""

    rows: Callable[[], Column]
    """Inside a session: whether a row is such a one."""
    who: str
    """The column that names whose rows are missing."""
    many: str
    """The column that says how many."""


class Layout(StrEnum):
    TABLE = "table"  # Parquet files: one, or a directory of them
    TRACE = "trace"  # a directory of a trace, or one that holds several


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    about: str
    schema: StructType
    rules: Callable[[Any], tuple[Rule, ...]]
    """From the parameters, inside a session: columns cannot be made without one."""
    layout: Layout = Layout.TABLE
    optional: bool = False
    gaps: Gaps | None = None


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    about: str
    needs: tuple[str, ...]
    transform: Callable[..., DataFrame]
    """From the parameters and the tables that it needs, in their order. An optional input that is absent is None."""
    schema: StructType
    carries: str = ""
    """The column that says for how many rows of the first table it needs a row stands; or several, with + between."""
    takes: Part | None = None
    """The rows of the first table that it is about, if it is not about all."""
    leaves: Callable[..., DataFrame] | None = None
    """Of these, and of other tables, what it leaves out on purpose: as the transform, but to ``LEFT_OUT``."""
    kept: bool = True
    """Whether it is written; if not, it is made anew by whoever needs it."""
    by: tuple[str, ...] = ()
    """The columns whose different values have directories of their own."""

    def carried(self) -> tuple[str, ...]:
        """The columns whose sums say for how many rows it stands."""
        return tuple(name.strip() for name in self.carries.split("+") if name.strip())


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart: one bar for each row of a small table."""

    name: str
    table: str
    label: str
    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Flow:
    name: str
    about: str
    parameters: type[Parameters]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    charts: tuple[Bars, ...] = ()

    def problems(self) -> list[str]:
        """What is wrong with the description itself."""
        known: dict[str, StructType] = {each.name: each.schema for each in self.inputs}
        found = []
        for step in self.steps:
            if step.name in known:
                found.append(f"{step.name}: the name is taken")
            found += [f"{step.name} needs {name}, not made before" for name in step.needs if name not in known]
            named = [name for name in (*step.carried(), *step.by) if name]
            found += [f"{step.name} has no column {name}" for name in named if name not in step.schema.fieldNames()]
            known[step.name] = step.schema
        for chart in self.charts:
            names = known[chart.table].fieldNames() if chart.table in known else []
            found += [f"{chart.name}: no column {name}" for name in (chart.label, chart.value) if name not in names]
        return found


def read_parameters(flow: Flow, given: dict[str, str]) -> Parameters:
    """The flow's parameters from texts; ``BadFlow`` says which of them is none."""
    names = [field.encode_name for field in msgspec.structs.fields(flow.parameters)]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise BadFlow(f"{flow.name} has no parameter {unknown[0]}; it has: {', '.join(names) or 'none'}")
    try:
        return msgspec.convert(given, flow.parameters, strict=False)
    except msgspec.ValidationError as error:
        raise BadFlow(f"{flow.name}: {error}") from error
