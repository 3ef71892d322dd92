"""A broker's memory: the file in which it keeps its neighbours for its next life, and its notes.

Each line is all that is known, and the last whole one counts. A line more costs next to nothing, where a new file in
the place of the old one stops the broker, and all events, for a millisecond and more; so that is done only where a life
begins to write, and when the lines have become many. A reader, such as the next life, sees the state before or the one
after, whenever the writer dies.

Owns: the file's shape, and how it is written. Must not know: what a neighbour is good for, or what is in the notes. The
links that stand in it are held by their other ends too, so the next life need not search for cycles; those that were
only wanted are searched for again.
"""

from __future__ import annotations

import contextlib
import errno
import os
from io import FileIO
from pathlib import Path

import msgspec

from reknit.core.overlay.notes import read_notes
from reknit.live.address import parse_address
from reknit.live.config import check_name
from reknit.live.errors import ConfigError

__all__ = ["Memory", "MemoryFile", "recall"]

FILE_BYTES_MAX = 16 << 20
"""More than all that the notes may come to: what a broker has written it must be able to read."""
LINES_BYTES_MAX = 1 << 20
"""A file that would become longer is begun anew, with the last line alone."""


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Neighbours are names with addresses; the empty address means that the neighbour dials."""

    name: str
    links: dict[str, str]
    wanted: dict[str, str] = {}
    notes: str = ""
    """On a change of the tree that was under way; the broker's own."""
    leaves: bool = False
    """It was drained, and has only to leave its neighbours, if it has any, and to end."""


def recall(path: Path, name: str) -> Memory | None:
    """What broker ``name`` has kept; None if there is no file yet. ``ConfigError`` if there can be no such file."""
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{path}: cannot be kept there: {path.parent} is no directory that can be written to")
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
        memory = _last(path.read_bytes())
        read_notes(memory.notes)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: no broker's state: {error}; remove it to begin with --link and --expect") from None
    if memory.name != name:
        raise ConfigError(f"{path}: the state of {memory.name!r}, not of {name!r}")
    for peer, address in [*memory.links.items(), *memory.wanted.items()]:
        check_name(peer, f"{path}: neighbour")
        if address:
            parse_address(address, f"{path}: neighbour {peer}")
    return memory


def _last(text: bytes) -> Memory:
    """The last whole line; or all of it, where somebody has laid it out over several. ``MsgspecError``.

    If the machine has died, the last line may have come to the disk in part; the one before was there long since.
    """
    *_, before, line, torn = [b"", b"", *text.split(b"\n")]
    if torn and not line:
        line = torn
    for each in (line, text, before):
        try:
            return msgspec.json.decode(each, type=Memory)
        except msgspec.ValidationError:
            raise  # it is whole, and no state
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
    return msgspec.json.decode(text, type=Memory)


class MemoryFile:
    """Where one broker writes. ``synced``: wait for the disk each time.

    A memory that has to outlive the process alone, and not the machine, need not wait.
    """

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        self.path = path
        self.synced = synced
        self._file: FileIO | None = None
        self._bytes = 0
        self._line = b""

    def remember(self, memory: Memory) -> None:
        """``OSError``, and then what was there before is there still, or, if the disk says so too late, this."""
        line = msgspec.json.encode(memory) + b"\n"
        file = self._file
        if file is None or self._bytes + len(line) > LINES_BYTES_MAX or not self._is_there(file):
            self._begin(line)
        elif line != self._line:
            self._append(file, line)
        self._line = line

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_there(self, file: FileIO) -> bool:
        """Somebody may have removed it, or put another in its place."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False

    def _append(self, file: FileIO, line: bytes) -> None:
        try:
            self._write(file, line)
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(self._bytes)
            self.close()  # what is in it now is not sure: the next time it is begun anew
            raise
        self._bytes += len(line)

    def _begin(self, line: bytes) -> None:
        """A file with this line alone, in the place of the one that was."""
        self.close()
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            file = self._file = beside.open("wb", buffering=0)
            self._write(file, line)
            beside.replace(self.path)
            if self.synced:
                _sync_names(self.path.parent)  # else the lines to come could be in a file that nobody finds
        except OSError:
            self.close()
            beside.unlink(missing_ok=True)
            raise
        self._bytes = len(line)

    def _write(self, file: FileIO, line: bytes) -> None:
        if file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.synced:
            os.fsync(file.fileno())


def _sync_names(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
