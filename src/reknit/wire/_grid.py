"""What peers say to each other on P-Grid, and its bounds.

Owns: those words. Must not know: what they make a peer do, or their bytes (see ``peers``).
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = [
    "BITS_MAX",
    "ENTRIES_MAX",
    "Copies",
    "Exchange",
    "Exchanged",
    "Found",
    "GridWord",
    "Seek",
    "Withdraw",
    "fault_of",
    "named_in",
]

BITS_MAX = 32
"""Of a key, and so of a path."""

REFERENCES_MAX = 8
"""Peers that are named for one level."""

ENTRIES_MAX = 64
"""Entries that one message holds, and peers that one names."""

POPULATION_MAX = 2**53

Known: TypeAlias = tuple[str, str]
"""A peer's address, and its path as far as is known."""

Entry: TypeAlias = tuple[str, float]
"""A member's address, and for how many seconds it is still one."""


class Exchange(msgspec.Struct, array_like=True, tag=20, frozen=True, gc=False):
    """The sender meets the receiver. ``depth``: how many meetings have led to this one."""

    number: int
    path: str
    references: tuple[tuple[Known, ...], ...]
    peers: tuple[str, ...]
    depth: int


class Exchanged(msgspec.Struct, array_like=True, tag=21, frozen=True, gc=False):
    """The answer. ``bit``: what to append to the path that was told (``at``), if anything. ``meet``: whom to meet."""

    number: int
    path: str
    at: str
    bit: str
    references: tuple[tuple[Known, ...], ...]
    peers: tuple[str, ...]
    meet: tuple[str, ...]
    depth: int


class Seek(msgspec.Struct, array_like=True, tag=22, frozen=True, gc=False):
    """``origin`` looks for ``want`` members of ``topic``. With a lease it is one itself from now on, for so long."""

    origin: str
    number: int
    topic: str
    want: int
    lease_s: float
    hops_left: int


class Found(msgspec.Struct, array_like=True, tag=23, frozen=True, gc=False):
    """Some members, of ``population`` that are known where this was looked up."""

    number: int
    topic: str
    peers: tuple[str, ...]
    population: int


class Copies(msgspec.Struct, array_like=True, tag=24, frozen=True, gc=False):
    """Members of ``topic``, for whoever has to know them all."""

    topic: str
    entries: tuple[Entry, ...]
    hops_left: int


class Withdraw(msgspec.Struct, array_like=True, tag=25, frozen=True, gc=False):
    """``peer`` is no member of ``topic`` any more: it says so itself, or one replica to another."""

    topic: str
    peer: str


GridWord: TypeAlias = Exchange | Exchanged | Seek | Found | Copies | Withdraw


def fault_of(word: GridWord) -> str:
    """What is beyond its bounds, but for topics and addresses; empty if nothing is."""
    match word:
        case Exchange(path=path, references=references):
            return _fault_of_path(path) or _fault_of_references(references)
        case Exchanged(path=path, at=at, bit=bit, references=references):
            if bit not in ("", "0", "1"):
                return f"the bit {bit!r}"
            return _fault_of_path(path) or _fault_of_path(at) or _fault_of_references(references)
        case Seek(want=want) if not 0 <= want <= ENTRIES_MAX:
            return f"a search for {want} peers"
        case Found(population=population) if not 0 <= population <= POPULATION_MAX:
            return f"a population of {population}"
        case Copies(entries=entries) if len(entries) > ENTRIES_MAX:
            return f"{len(entries)} entries at once"
    return ""


def named_in(word: GridWord) -> tuple[str, ...]:
    """The peers that are named in it, whose addresses have to be looked at."""
    match word:
        case Exchange(references=references, peers=peers):
            return (*peers, *(peer for level in references for peer, _ in level))
        case Exchanged(references=references, peers=peers, meet=meet):
            return (*peers, *meet, *(peer for level in references for peer, _ in level))
        case Seek(origin=peer) | Withdraw(peer=peer):
            return (peer,)
        case Found(peers=peers):
            return peers
        case Copies(entries=entries):
            return tuple(peer for peer, _ in entries)


def _fault_of_path(path: str) -> str:
    return f"the path {path[:40]!r}" if len(path) > BITS_MAX or path.strip("01") else ""


def _fault_of_references(references: tuple[tuple[Known, ...], ...]) -> str:
    if len(references) > BITS_MAX or any(len(level) > REFERENCES_MAX for level in references):
        return "more references than anybody has"
    return next((fault for level in references for _, path in level if (fault := _fault_of_path(path))), "")
