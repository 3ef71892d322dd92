"""A broker's memory: the file in which it keeps its neighbours for its next life, and its notes.

Owns: the file's shape, and that it is replaced as a whole. Must not know: what a neighbour is good for, or what is in
the notes. The links that stand in it are held by their other ends too, so the next life need not search for cycles;
those that were only wanted are searched for again.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from reknit.core.overlay.notes import read_notes
from reknit.live.address import parse_address
from reknit.live.config import check_name
from reknit.live.errors import ConfigError

__all__ = ["Memory", "recall", "remember"]

FILE_BYTES_MAX = 16 << 20
"""More than all that the notes may come to: what a broker has written it must be able to read."""


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
        memory = msgspec.json.decode(path.read_bytes(), type=Memory)
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


def remember(path: Path, memory: Memory, *, synced: bool = True) -> None:
    """Replace the file, so that a reader, such as the next life, sees the old one or the new one. ``OSError``.

    ``synced``: wait for the disk. A memory that has to outlive the process alone, and not the machine, need not.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    document = msgspec.json.format(msgspec.json.encode(memory), indent=2) + b"\n"
    try:
        with beside.open("wb") as file:
            file.write(document)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
