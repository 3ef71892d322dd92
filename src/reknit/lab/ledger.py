"""What is measured already: rows are kept as they come, so that a run that was broken off goes on where it was.

Owns: the file of rows of an experiment that is not finished. Must not know: who measures, or what.

Rows count only for the same code, scale and experiment; of a checkout with changes nobody knows whether it is the
same, so nothing is kept of it. A line that was cut off in the middle is measured again.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from reknit.lab.experiment import Point, Row

__all__ = ["LEDGER_FILE", "Ledger"]

LEDGER_FILE = "rows.jsonl"


class Ledger:
    """A context manager: its file is closed at the end, and removed by ``finish``."""

    def __init__(self, path: Path, commit: str, scale: str) -> None:
        self._path = path
        self._head = json.dumps({"commit": commit, "scale": scale})
        self._rows: dict[str, Row] = {}
        if not commit.endswith("-dirty"):
            self._read()
        self._file = path.open("w", encoding="utf-8")
        self._write(self._head)
        for key, row in self._rows.items():
            self._write(json.dumps([key, row]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, point: Point, seed: int) -> Row | None:
        return self._rows.get(_key(point, seed))

    def keep(self, point: Point, seed: int, row: Row) -> None:
        self._rows[_key(point, seed)] = row
        self._write(json.dumps([_key(point, seed), row]))

    def finish(self) -> None:
        """The results are written: there is nothing left to go on with."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()

    def _read(self) -> None:
        if not self._path.exists():
            return
        head, *lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")
        if head != self._head:
            return
        for line in lines[:-1]:  # behind the last end of a line there is nothing, or half a line
            key, row = json.loads(line)
            self._rows[key] = row


def _key(point: Point, seed: int) -> str:
    return json.dumps([dict(point), seed], sort_keys=True)
