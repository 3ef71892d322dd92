"""The rows of an experiment as a file: ``results.parquet``, one row per point and seed.

The same rows give the same file, byte for byte: nothing in it depends on when or on how many processes it was made.
"""

from __future__ import annotations

from pathlib import Path

from reknit.lab.experiment import Row, Rows

__all__ = ["RESULTS_FILE", "read_results", "write_results"]

RESULTS_FILE = "results.parquet"


def write_results(rows: Rows, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for row in rows:
        if row.keys() != rows[0].keys():
            raise ValueError(f"rows differ in their columns: {list(rows[0])} and {list(row)}")
    pq.write_table(pa.Table.from_pylist(list(rows)), path, compression="zstd")


def read_results(path: Path) -> list[Row]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        rows: list[Row] = file.read().to_pylist()
    return rows
