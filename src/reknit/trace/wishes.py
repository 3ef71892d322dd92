"""What clients want, as it changes: a stream of subscribing and unsubscribing in the order of time, as files.

Owns: the columns of such a stream, and reading it back in its order. Must not know: who makes it, or what it is played
into.

A stream is a directory with one subdirectory for each day, ``day=2010-08-01``. It is read a day at a time, so that only
one of them is in memory. At one moment subscriptions come first: what is wanted under both is never let go between.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ORDER", "SUBSCRIBE", "UNSUBSCRIBE", "BadWishes", "Wish", "brokers_of", "days_of", "read_wishes"]

SUBSCRIBE = "subscribe"
UNSUBSCRIBE = "unsubscribe"
ORDER = ("at", "action", "client", "topic")
"""What the rows of a day are in the order of; the names of the actions are in theirs."""
_COLUMNS = (*ORDER, "broker")
_PREFIX = "day="
_AT_ONCE = 8192


class BadWishes(ValueError):
    """What was to be read is no stream of wishes."""

    exit_code = 2


class Wish(msgspec.Struct, frozen=True, array_like=True, gc=False):
    at: float
    """In seconds since 1970."""
    wanted: bool
    """Whether it is wanted from now on, or no more."""
    broker: str
    client: str
    topic: str


def days_of(directory: str | Path) -> list[Path]:
    """The directories of the days, in their order; ``BadWishes`` if there is none."""
    place = Path(directory)
    found = sorted(path for path in place.glob(f"{_PREFIX}*") if path.is_dir()) if place.is_dir() else []
    if not found:
        raise BadWishes(f"{directory}: no stream of subscriptions; there is no directory {_PREFIX}DATE in it")
    return found


def brokers_of(directory: str | Path) -> list[str]:
    """All brokers of the stream, by name."""
    import pyarrow.compute as pc

    found: dict[str, None] = {}
    for day in days_of(directory):
        found |= dict.fromkeys(pc.unique(_table(day, ["broker"])["broker"]).to_pylist())
    return sorted(found)


def read_wishes(directory: str | Path) -> Iterator[Wish]:
    """Every change, in the order of time."""
    import pyarrow as pa

    for day in days_of(directory):
        rows = _table(day, list(_COLUMNS)).sort_by([(name, "ascending") for name in ORDER])
        moments = rows["at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        rows = rows.set_column(rows.schema.get_field_index("at"), "at", moments)
        for batch in rows.to_batches(_AT_ONCE):
            yield from _wishes(batch)


def _wishes(batch: pa.RecordBatch) -> Iterator[Wish]:
    values = batch.to_pydict()
    rows = zip(*(values[name] for name in ("at", "action", "broker", "client", "topic")), strict=True)
    for at, action, broker, client, topic in rows:
        if action not in (SUBSCRIBE, UNSUBSCRIBE):
            raise BadWishes(f"an action that is none: {action!r}")
        yield Wish(at / 1e6, action == SUBSCRIBE, broker, client, topic)


def _table(day: Path, names: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = []
    for path in sorted(day.glob("*.parquet")):
        try:
            parts.append(pq.ParquetFile(path).read(columns=names).select(names))
        except (pa.ArrowException, OSError, KeyError) as error:
            raise BadWishes(f"{path}: {' '.join(str(error).split())[:200]}") from error
    if not parts:
        raise BadWishes(f"{day}: there is no Parquet file")
    return pa.concat_tables(parts)
