"""The file of a broker: what is committed is there after any end, and what is not as it was written is never read."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from reknit.store.entries import StoreBusy, StoreDamaged, StoreError, StoreFull
from reknit.store.sqlite import SqliteStore, journal_of

VALUES = {("message", b"c\0%d" % number): bytes([number]) * 500 for number in range(200)}


def filled(path: Path) -> None:
    store = SqliteStore(path, "b1")
    store.commit(VALUES)
    store.close()


def read(path: Path) -> dict[tuple[str, bytes], bytes]:
    store = SqliteStore(path, "b1")
    try:
        return {(shelf, key): value for shelf, key, value in store.load()}
    finally:
        store.close()


def test_the_last_word_of_a_batch_and_of_batches_counts(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s", "b1")
    store.commit({("a", b"1"): b"one", ("a", b"2"): b"two"})
    store.commit({("a", b"1"): None, ("a", b"2"): b"deux", ("a", b"3"): None})
    assert list(store.load()) == [("a", b"2", b"deux")]
    store.close()
    assert read(tmp_path / "s") == {("a", b"2"): b"deux"}


def test_a_second_broker_is_kept_out_until_the_first_has_ended(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "s", "b1")
    with pytest.raises(StoreBusy, match="another broker holds this store"):
        SqliteStore(tmp_path / "s", "b1")
    other = (
        "import sys; from pathlib import Path; from reknit.store.sqlite import SqliteStore\n"
        "SqliteStore(Path(sys.argv[1]), 'b1')\n"
    )
    command = [sys.executable, "-c", other, str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "StoreBusy" in done.stderr
    first.close()
    SqliteStore(tmp_path / "s", "b1").close()


def test_another_brokers_store_and_other_files_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    with pytest.raises(StoreError, match="the store of 'b1', not of 'b2'"):
        SqliteStore(tmp_path / "s", "b2")
    (tmp_path / "text").write_text("some text that is no database " * 100)
    with pytest.raises(StoreDamaged, match="not a database"):
        SqliteStore(tmp_path / "text", "b1")
    base = sqlite3.connect(tmp_path / "other")
    base.execute("CREATE TABLE x (y)")
    base.close()
    with pytest.raises(StoreError, match="no store of reknit"):
        SqliteStore(tmp_path / "other", "b1")
    with pytest.raises(StoreError, match="No such file or directory"):
        SqliteStore(tmp_path / "nowhere" / "s", "b1")


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    base = sqlite3.connect(tmp_path / "s")
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(StoreError, match="version 99, not 1"):
        SqliteStore(tmp_path / "s", "b1")


def test_what_was_committed_outlives_a_killed_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from reknit.store.sqlite import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1]), 'b1')\n"
        "for number in range(10**9):\n"
        "    store.commit({('n', b'%d' % number): b'x'}); print(number, flush=True)\n"
    )
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "s")], stdout=subprocess.PIPE)
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        kept = {int(key) for _, key in read(tmp_path / "s")}
        assert {int(line) for line in said if line.endswith(b"\n")} <= kept


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_bit_is_found_or_does_no_harm(tmp_path: Path, seed: int) -> None:
    """Wherever it is: either all entries are as they were written, or the file is refused."""
    rng = random.Random(seed)
    filled(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    (tmp_path / "s").write_bytes(data)
    try:
        kept = read(tmp_path / "s")
    except StoreError:
        return
    assert kept == VALUES


def test_a_flipped_bit_in_a_value_names_the_entry_and_the_way_out(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    data[data.index(bytes([77]) * 100) + 50] ^= 4
    (tmp_path / "s").write_bytes(data)
    with pytest.raises(StoreDamaged, match=r"entry b'c\\x0077' on shelf 'message' .* --salvage"):
        read(tmp_path / "s")


def killed(path: Path, commits: int) -> None:
    """A file as a killed process leaves it, with so many commits in its journal."""
    script = (
        "import os, sys; from pathlib import Path; from reknit.store.sqlite import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1]), 'b1')\n"
        "for number in range(int(sys.argv[2])):\n"
        "    store.commit({('n', b'%d' % number): b'x' * 3000})\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path), str(commits)], check=True)


def test_a_torn_tail_loses_the_commit_that_was_not_finished_alone(tmp_path: Path) -> None:
    killed(tmp_path / "s", 5)
    journal = journal_of(tmp_path / "s")
    os.truncate(journal, journal.stat().st_size - 2000)
    store = SqliteStore(tmp_path / "s", "b1")
    assert [key for _, key, _ in store.load()] == [b"0", b"1", b"2", b"3"]
    assert "torn" in store.remark
    store.close()
    assert SqliteStore(tmp_path / "s", "b1").remark == ""


@pytest.mark.parametrize("place", [20, 100, 5000, 12_000])
def test_a_flipped_bit_in_the_journal_is_no_torn_tail(tmp_path: Path, place: int) -> None:
    """SQLite alone would drop all commits behind it, and say nothing."""
    killed(tmp_path / "s", 8)
    journal = journal_of(tmp_path / "s")
    data = bytearray(journal.read_bytes())
    data[place] ^= 1
    journal.write_bytes(data)
    for _ in range(2):  # to look does not change it
        with pytest.raises(StoreDamaged, match="commits of its journal cannot be read"):
            SqliteStore(tmp_path / "s", "b1")


def test_a_full_disk_keeps_nothing_of_a_batch_and_passes(tmp_path: Path) -> None:
    """The kernel's own limit on the size of files, in a process of its own."""
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from reknit.store.entries import StoreFull; from reknit.store.sqlite import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1]), 'b1'); store.commit({('a', b'1'): b'x'})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40000, resource.RLIM_INFINITY))\n"
        "big = {('a', b'%d' % n): b'y' * 900 for n in range(2, 200)}\n"
        "for _ in range(2):\n"
        "    try: store.commit(big); print('kept')\n"
        "    except StoreFull as error: print(error)\n"
        "print(sum(1 for _ in store.load()))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "store.commit(big); print(sum(1 for _ in store.load())); store.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "s")], capture_output=True, text=True, check=False
    )
    first, second, before, after = done.stdout.splitlines()
    assert "could not be written" in first
    assert first == second
    assert (before, after) == ("1", "199")
    assert len(read(tmp_path / "s")) == 199


def test_a_file_that_may_not_grow_is_full(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s", "b1")
    base = store._base
    assert base is not None
    base.execute("PRAGMA max_page_count = 4")
    with pytest.raises(StoreFull, match="full; see that there is room"):
        store.commit(VALUES)
    base.execute("PRAGMA max_page_count = 100000")
    store.commit(VALUES)
    assert len(list(store.load())) == len(VALUES)
    store.close()
