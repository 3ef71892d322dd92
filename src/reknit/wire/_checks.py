"""What gossip may say; and the bounds of names, which everything has.

Owns: these checks. Must not know: frames, or how anything is encoded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from reknit.model.event import INTEGER_MAX
from reknit.wire.messages import Age, Asker, Gossip, Keeps, Lack, Line, Misses, MissesOf, Range, Silent

__all__ = [
    "CLIENT_CHARS_MAX",
    "NAME_CHARS_MAX",
    "ROUTE_BROKERS_MAX",
    "RUNS_MAX",
    "BadFrame",
    "check_ages",
    "check_asker",
    "check_digest",
    "check_gossip",
    "check_heritage",
    "check_line",
    "check_names",
]

NAME_CHARS_MAX = 256
"""A broker's name, or its address. What is passed on must fit into a frame wherever it goes: hence these bounds."""

ROUTE_BROKERS_MAX = 256
"""Brokers that an event says it has come by."""

CLIENT_CHARS_MAX = 65_535
"""A client's name: as long as MQTT lets it be."""

RUNS_MAX = 4096
"""Runs of numbers in one digest."""

HOPS_MAX = 255


class BadFrame(ValueError):
    """The other broker's fault: bytes that are no frame."""


def check_gossip(message: Gossip) -> None:
    match message:
        case Silent(source=source, numbers=numbers, hops=hops, route=way, address=address, key=key):
            check_names(source, address, *way)
            if len(numbers) > RUNS_MAX or not 0 <= hops <= HOPS_MAX or len(way) > ROUTE_BROKERS_MAX:
                raise BadFrame(f"the last numbers of {len(numbers)} patterns, after {hops} brokers")
            check_numbers(numbers)
            check_key(key)
        case Keeps(asker=asker, signature=signature, kept=lost, hops=hops):
            check_asker(asker, hops)
            check_digest(signature, 0.0, lost)
        case Misses(asker=asker, signature=signature, age_s=age_s, lost=lost, hops=hops):
            check_asker(asker, hops)
            check_digest(signature, age_s, lost)
        case MissesOf():
            _check_misses_of(message)


def _check_misses_of(message: MissesOf) -> None:
    check_asker(message.asker)
    check_key(message.key)
    check_names(message.source, message.address, *message.route)
    lost = [(message.source, *each) for each in message.lost]
    lost += [(other, *each) for other, some in message.others for each in some]
    if len(message.route) > ROUTE_BROKERS_MAX or max(len(message.others), len(lost), len(message.wants)) > RUNS_MAX:
        raise BadFrame(f"a route over {len(message.route)} brokers, for {len(lost)} patterns")
    for source, signature, age_s, ranges in lost:
        check_digest(signature, age_s, [(source, ranges)])
    check_numbers((signature, 1) for signature in message.wants)


def check_asker(asker: Asker, hops: int = 0) -> None:
    check_names(asker.name, asker.address)
    if not asker.name or not 0 < asker.round <= INTEGER_MAX or not 0 <= hops <= HOPS_MAX:
        raise BadFrame(f"round {asker.round} of {asker.name[:80]!r}, after {hops} brokers")


def check_key(key: int) -> None:
    if not 0 <= key <= INTEGER_MAX:
        raise BadFrame(f"a broker's key {key}")


def check_digest(signature: int, age_s: float, lost: list[tuple[str, list[Range]]]) -> None:
    """Runs must be such, and apart; whether there are such events, nobody can know here."""
    check_names(*(source for source, _ in lost))
    if not 0 <= signature <= INTEGER_MAX or not 0 <= age_s < math.inf:
        raise BadFrame(f"a digest of pattern {signature}, of the last {age_s} s")
    if len(lost) + sum(len(ranges) for _, ranges in lost) > RUNS_MAX:
        raise BadFrame(f"more than {RUNS_MAX} runs of numbers")
    for _, ranges in lost:
        before = 0
        for first, last in ranges:
            if not before < first <= last <= INTEGER_MAX:
                raise BadFrame(f"a run of numbers from {first} to {last}, behind {before}")
            before = last


def check_heritage(runs: dict[str, list[Range]], ages: list[Age], lacks: list[Lack]) -> None:
    """What a session has had and lacks: not too much of either, and each as in any digest."""
    many = sum(map(len, runs.values())) + len(runs)
    lacking = sum(len(missing) for _, _, _, missing in lacks) + len(lacks)
    if max(many, lacking, len(ages)) > RUNS_MAX:
        raise BadFrame(f"{many} runs that were had, {lacking} that are lacking, for {len(ages)} patterns: too many")
    for source, had in runs.items():
        check_digest(0, 0.0, [(source, had)])
    for signature, *ages_s in ages:
        for age_s in ages_s:
            check_digest(signature, age_s, [])
    for source, signature, top, missing in lacks:
        check_digest(signature, 0.0, [(source, missing)])
        check_numbers([(signature, top)] if top or not missing else [])


def check_line(line: Line) -> None:
    check_names(line.kind, line.source)
    if len(line.name) > CLIENT_CHARS_MAX or not 0 < line.time_ms <= INTEGER_MAX:
        raise BadFrame(f"a line under a name of {len(line.name)} characters, of time {line.time_ms}")


def check_ages(ages_s: list[float], events: int) -> None:
    """One for each event."""
    if len(ages_s) != events or not all(0 <= age < math.inf for age in ages_s):
        raise BadFrame(f"{len(ages_s)} ages of {events} events")


def check_numbers(numbers: Iterable[tuple[int, int]]) -> None:
    for signature, number in numbers:
        if not 0 <= signature <= INTEGER_MAX or not 0 < number <= INTEGER_MAX:
            raise BadFrame(f"number {number} for pattern {signature}")


def check_names(*names: str) -> None:
    for name in names:
        if len(name) > NAME_CHARS_MAX:
            raise BadFrame(f"a name of {len(name)} characters, over the {NAME_CHARS_MAX} that are allowed")
