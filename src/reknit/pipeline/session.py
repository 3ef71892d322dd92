"""The one place where a Spark session is made.

Owns: where Spark runs, and the settings that results depend on. Must not know: any flow.

Spark runs where it is told to: at a server of Spark Connect (``remote``, or ``SPARK_REMOTE``), under a master, or under
``spark-submit``, which has decided that already. Without any of these it runs in this process's Java, on the cores of
this machine. Flows use tables only, never what Connect has not, so all four run the same code.

Workers are started with this interpreter, since the first ``python3`` of the path may lack what they need. On a
cluster, where its path may not exist, ``PYSPARK_PYTHON`` says what to start.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from reknit.pipeline.java import find_java

__all__ = ["Place", "overruled", "place_of", "prepare", "session", "settings"]

MASTER = "local[*]"
MEMORY = "2g"
SHUFFLE_PARTITIONS = 8
"""On one machine; the 200 that Spark begins with cost more than they bring there."""

LISTS_AT_ONCE = 100_000
"""Groups whose values are collected in memory; Spark begins with 128, and sorts beyond that, which takes longer."""

CODE_KEPT = 2_000
"""Pieces of compiled code; Spark begins with 100, fewer than the batches of one stream have in common."""

_LOG = Path(__file__).with_name("log4j2.properties").resolve()

_UNDER_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Set by ``spark-submit`` for the program that it runs."""

_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""What results depend on, wherever it runs."""

_HERE = {
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(LISTS_AT_ONCE),
    "spark.sql.codegen.cache.maxEntries": str(CODE_KEPT),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Where this process starts Spark."""

_ALONE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
}
"""And all of it is on this machine; workers on others have to find this process."""


JAVA = "-XX:+UseParallelGC"
"""Work is done in batches, so what counts is how much is done, and not how long a pause is."""


_JAVA_READS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
"""Variables from which every Java takes options."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to run."""

    master: str = ""
    remote: str = ""
    memory: str = MEMORY
    """For the Java of this process, if there is one."""
    name: str = "reknit"
    java_options: str = JAVA
    """More of them for that Java."""
    further: tuple[tuple[str, str], ...] = ()
    """More settings of Spark's."""


def place_of(place: Place, environ: MutableMapping[str, str]) -> str:
    """``remote``, ``submitted`` or ``here``; ``ValueError`` if it is told two things."""
    if place.master and place.remote:
        raise ValueError("give --master or --remote, not both")
    if place.remote or (environ.get("SPARK_REMOTE") and not place.master):
        return "remote"
    return "submitted" if _UNDER_SUBMIT in environ else "here"


def _own_server(place: Place) -> bool:
    """Whether Spark Connect is to start a server for this process alone."""
    return place.remote.startswith("local")


def settings(place: Place, where: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of a session; those that a Java is started with only where it is started from here."""
    if _own_server(place):
        return _ALWAYS | _HERE | _ALONE | dict(place.further)
    if where != "here":
        return dict(_ALWAYS)
    java = f"-Dlog4j2.configurationFile={_LOG.as_uri()} {_java_options(place, environ or {})}".strip()
    own = {"spark.driver.memory": place.memory, "spark.driver.extraJavaOptions": java}
    alone = _ALONE if (place.master or MASTER).startswith("local") else {}
    return _ALWAYS | _HERE | alone | own | dict(place.further)


def _java_options(place: Place, environ: Mapping[str, str]) -> str:
    """Not our collector beside one that the environment has chosen: Java does not start with two."""
    chosen = any(re.search(r"-XX:\+Use\w+GC\b", environ.get(name, "")) for name in _JAVA_READS)
    return "" if chosen and place.java_options == JAVA else place.java_options


def prepare(place: Place, where: str, environ: MutableMapping[str, str]) -> None:
    """What has to stand in the environment before Spark looks at it."""
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if (where == "here" or _own_server(place)) and (home := find_java(environ).home):
        environ["JAVA_HOME"] = home


@contextmanager
def overruled(where: str, environ: MutableMapping[str, str]) -> Iterator[None]:
    """Without what says otherwise in the environment: Spark takes that for a contradiction, whoever is asked first."""
    names = ("MASTER",) if where == "remote" else ("SPARK_REMOTE",)
    aside = {name: environ.pop(name) for name in names if name in environ}
    try:
        yield
    finally:
        environ.update(aside)


@contextmanager
def session(place: Place) -> Iterator[SparkSession]:
    """A session at ``place``, stopped at the end. One that this process has is used, wherever it is, and left."""
    where = place_of(place, os.environ)
    if (there := SparkSession.getActiveSession()) is not None:
        yield there
        return
    prepare(place, where, os.environ)
    with overruled(where, os.environ):
        spark = _builder(place, where).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def _builder(place: Place, where: str) -> SparkSession.Builder:
    builder = SparkSession.builder.appName(place.name)
    if place.remote:
        builder = builder.remote(place.remote)
    elif where == "here":
        builder = builder.master(place.master or MASTER)
    for key, value in settings(place, where, os.environ).items():
        builder = builder.config(key, value)
    return builder
