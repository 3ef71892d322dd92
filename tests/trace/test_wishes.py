"""A stream of wishes, written and read back in its order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reknit.trace.wishes import BadWishes, Wish, brokers_of, read_wishes


def write(directory: Path, wishes: list[Wish], part: int = 0) -> Path:
    """As the flow ``subscriptions`` does, in the order in which they are given."""
    by_day: dict[str, list[Wish]] = {}
    for wish in wishes:
        by_day.setdefault(datetime.fromtimestamp(wish.at, UTC).strftime("%Y-%m-%d"), []).append(wish)
    for day, some in by_day.items():
        (directory / f"day={day}").mkdir(parents=True, exist_ok=True)
        table = pa.table(
            {
                "at": pa.array([round(each.at * 1e6) for each in some], pa.timestamp("us", "UTC")),
                "action": ["subscribe" if each.wanted else "unsubscribe" for each in some],
                "broker": [each.broker for each in some],
                "client": [each.client for each in some],
                "topic": [each.topic for each in some],
                "opens": [int(each.wanted) for each in some],
            }
        )
        pq.write_table(table, directory / f"day={day}" / f"part-{part}.parquet")
    return directory


def test_days_and_files_are_one_stream_and_subscriptions_come_first(tmp_path: Path) -> None:
    day = 86_400.0
    late, gone = Wish(day + 1.5, True, "b2", "u1", "b"), Wish(5.0, False, "b1", "u1", "a")
    early, come = Wish(0.25, True, "b1", "u1", "a"), Wish(5.0, True, "b1", "u2", "a")
    write(tmp_path, [late, gone])
    write(tmp_path, [come, early], part=1)
    assert list(read_wishes(tmp_path)) == [early, come, gone, late]
    assert brokers_of(tmp_path) == ["b1", "b2"]


def test_what_is_no_stream_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadWishes, match="no stream of subscriptions"):
        list(read_wishes(tmp_path / "nowhere"))
    (tmp_path / "day=1970-01-01").mkdir()
    with pytest.raises(BadWishes, match="no Parquet file"):
        list(read_wishes(tmp_path))
    (tmp_path / "day=1970-01-01" / "part-0.parquet").write_bytes(b"no table")
    with pytest.raises(BadWishes, match=r"part-0\.parquet"):
        list(read_wishes(tmp_path))


def test_an_action_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, [Wish(1.0, True, "b1", "u1", "a")])
    path = tmp_path / "day=1970-01-01" / "part-0.parquet"
    table = pq.ParquetFile(path).read()
    pq.write_table(table.set_column(1, "action", pa.array(["jump"])), path)
    with pytest.raises(BadWishes, match="jump"):
        list(read_wishes(tmp_path))
