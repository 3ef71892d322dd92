"""The store of simulated brokers says the same as the one on a disk."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reknit.store.entries import Batch
from reknit.store.memory import MemoryStore
from reknit.store.sqlite import SqliteStore

KEYS = st.tuples(st.sampled_from(["a", "b"]), st.binary(max_size=2))
BATCHES = st.lists(st.dictionaries(KEYS, st.none() | st.binary(max_size=8), max_size=5), max_size=6)


@given(BATCHES)
def test_both_stores_keep_the_same(batches: list[Batch]) -> None:
    import tempfile

    memory = MemoryStore()
    with tempfile.TemporaryDirectory() as directory:
        disk = SqliteStore(Path(directory) / "s", "b1")
        for batch in batches:
            memory.commit(batch)
            disk.commit(batch)
        assert list(disk.load()) == list(memory.load())
        assert len(memory) == len(list(memory.load()))
        disk.close()
        again = SqliteStore(Path(directory) / "s", "b1")
        assert list(again.load()) == list(memory.load())
        again.close()
        memory.close()
