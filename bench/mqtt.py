"""One broker, and a chain of three, beside mosquitto under the same load.

Owns: which loads are offered, and how two brokers are compared. Must not know: how a load is made (``generator``) or a
broker started (``peers``).

A shared machine is never equally fast for long, so the brokers take turns within each round, and what counts is the
median of the rounds' ratios, not a ratio of two medians. The order within a round changes each time.
"""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from bench.generator import Load, Result
from bench.peers import Missing, Peer, find_mosquitto, mosquitto, mosquitto_chain, reknit, reknit_chain, relay
from bench.rows import INFORMATION, Row

__all__ = ["run"]

MOSQUITTO = "mosquitto = 1"
MOSQUITTOS = "3 bridged mosquittos = 1"
LOAD_S_MAX = 60.0
CHAIN = 3


@dataclass(frozen=True, slots=True)
class Scenario:
    measure: str
    at_least: float
    load: Load
    split: int = 1
    """Each round is cut into so many: more and shorter turns for a measure that busy neighbours disturb most."""
    times: int = 1
    """So many times as many rounds, where the two differ by less than two rounds of the same."""


def _load(**changes: int) -> Load:
    return replace(Load(0, 0), **changes)


ONE_TO_ONE = Scenario("1 publisher to 1 subscriber, QoS 0, 100 B, 2,000 in flight", 2.0, _load())
ONE_IN_FLIGHT = Scenario("the same, one in flight", 0.8, _load(window=1), split=3)
FAN_OUT = Scenario("1 publisher to 20 subscribers, QoS 0 (deliveries)", 5.0, _load(subscribers=20))
FAN_IN = Scenario("20 publishers to 1 subscriber, QoS 0", 1.5, _load(publishers=20))
QOS_1 = Scenario("1 publisher to 1 subscriber, QoS 1, 100 in flight", INFORMATION, _load(qos=1, window=100))
CHAINED = Scenario("chain of three brokers, QoS 0, 2,000 in flight", 1.0, _load())
RECOVERING = Scenario("chain of three brokers, recovery on, nothing lost", 0.9, _load(), split=2, times=3)
TRACED = Scenario("1 publisher to 1 subscriber, trace on", INFORMATION, _load(), split=2)
HEADROOM = Scenario("load generator: what it can offer, 1 to 1", INFORMATION, _load())

SINGLE = (ONE_TO_ONE, ONE_IN_FLIGHT, FAN_OUT, FAN_IN, QOS_1)


@dataclass(frozen=True, slots=True)
class _Pace:
    rounds: int
    measure_s: float


def run(quick: bool = False, only: str = "") -> list[Row]:
    """The rows whose measures contain ``only``; those that need mosquitto say so where there is none."""
    pace = _Pace(1, 0.5) if quick else _Pace(9, 0.6)
    single = [each for each in SINGLE if only in each.measure]
    chain = [each for each in (CHAINED,) if only in each.measure]
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as name:
        directory = Path(name)
        program, remark = _mosquitto() if single or chain else ("", "")
        return [
            *(_single(single, program, remark, directory, pace) if single else ()),
            *(_chain(program, remark, directory, pace) if chain else ()),
            *(_recovering(directory, pace) if only in RECOVERING.measure else ()),
            *(_traced(directory / "trace", pace) if only in TRACED.measure else ()),
            *(_headroom(pace) if only in HEADROOM.measure else ()),
        ]


def _mosquitto() -> tuple[str, str]:
    try:
        return find_mosquitto()
    except Missing as missing:
        return "", str(missing)


def _single(scenarios: list[Scenario], program: str, remark: str, directory: Path, pace: _Pace) -> list[Row]:
    if not program:
        return [_unmeasured(scenario, MOSQUITTO, remark) for scenario in scenarios]
    with _together(reknit(), mosquitto(program, directory)) as (ours, theirs):
        return [_compared(scenario, ours, theirs, MOSQUITTO, pace, remark) for scenario in scenarios]


def _chain(program: str, remark: str, directory: Path, pace: _Pace) -> list[Row]:
    if not program:
        return [_unmeasured(CHAINED, MOSQUITTOS, remark)]
    with _together(reknit_chain(CHAIN), mosquitto_chain(program, directory, CHAIN)) as (ours, theirs):
        return [_compared(CHAINED, ours, theirs, MOSQUITTOS, pace, remark)]


def _recovering(directory: Path, pace: _Pace) -> list[Row]:
    file = directory / "recovery.toml"
    file.write_text('[options.recovery]\nalgorithm = "auto"\n', encoding="utf-8")
    with _together(reknit_chain(CHAIN, "--config", str(file)), reknit_chain(CHAIN)) as (recovering, plain):
        recovering, plain = replace(recovering, name="recovery on"), replace(plain, name="off")
        return [_compared(RECOVERING, recovering, plain, "recovery off = 1", pace)]


def _traced(directory: Path, pace: _Pace) -> list[Row]:
    with _together(reknit("--trace", str(directory)), reknit()) as (traced, plain):
        traced, plain = replace(traced, name="trace on"), replace(plain, name="off")
        row = _compared(TRACED, traced, plain, "trace off = 1", pace)
    return [replace(row, note=f"{row.note}; {_kept(directory)}")]


def _kept(directory: Path) -> str:
    """A trace that is quick because it leaves things out is none; so the row says how much it has."""
    untraced = pq.read_table(directory, columns=["size"], filters=[("kind", "==", "untraced")])["size"].to_pylist()
    written = pq.read_table(directory, columns=["kind"]).num_rows - len(untraced)
    return f"{written:,} records written, {sum(untraced):,} dropped"


def _headroom(pace: _Pace) -> list[Row]:
    with _together(relay(), reknit()) as (bare, plain):
        return [_compared(HEADROOM, bare, plain, "reknit = 1", pace)]


@contextlib.contextmanager
def _together(*peers: contextlib.AbstractContextManager[Peer]) -> Iterator[tuple[Peer, ...]]:
    with contextlib.ExitStack() as stack:
        yield tuple(stack.enter_context(peer) for peer in peers)


# --- comparing


@dataclass(frozen=True, slots=True)
class _Sample:
    rate: float
    cpu_us: float
    """Processor time of the broker for each delivery, in microseconds."""


def _compared(scenario: Scenario, ours: Peer, theirs: Peer, peer: str, pace: _Pace, remark: str = "") -> Row:
    """The row of one scenario. A broker that fails under the load makes a row without a number that says so."""
    samples: dict[str, list[_Sample]] = {ours.name: [], theirs.name: []}
    pace = _Pace(pace.rounds * scenario.split * scenario.times, pace.measure_s / scenario.split)
    for number in range(pace.rounds):
        for broker in (ours, theirs) if number % 2 == 0 else (theirs, ours):
            try:
                samples[broker.name].append(_measured(scenario.load, broker, pace))
            except RuntimeError as error:
                return _unmeasured(scenario, peer, f"{broker.name}: {error}")
    pairs = zip(samples[ours.name], samples[theirs.name], strict=True)
    ratios = sorted(mine.rate / other.rate for mine, other in pairs)
    note = "; ".join([_described(broker.name, samples[broker.name]) for broker in (ours, theirs)])
    spread = f"rounds {ratios[0]:.2f} to {ratios[-1]:.2f}"
    notes = [each for each in (note, spread, remark) if each]
    return Row(scenario.measure, peer, scenario.at_least, median(ratios), "; ".join(notes))


def _described(name: str, samples: list[_Sample]) -> str:
    rate, cpu_us = median(each.rate for each in samples), median(each.cpu_us for each in samples)
    return f"{name} {rate:,.0f}/s at {cpu_us:.1f} us of CPU"


def _measured(load: Load, broker: Peer, pace: _Pace) -> _Sample:
    """Run the generator as a process of its own. ``RuntimeError`` with its last line if it fails."""
    whole = replace(
        load, publish_port=broker.publish_port, subscribe_port=broker.subscribe_port, measure_s=pace.measure_s
    )
    before = broker.cpu_s()
    command = [sys.executable, "-m", "bench.generator", json.dumps(asdict(whole))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LOAD_S_MAX, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "the load ended early")
    result = Result(**json.loads(ran.stdout))
    return _Sample(result.rate, (broker.cpu_s() - before) / result.received * 1e6)


def _unmeasured(scenario: Scenario, peer: str, why: str) -> Row:
    return Row(scenario.measure, peer, scenario.at_least, math.nan, why)
