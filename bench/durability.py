"""What a store costs, and what it is good for: kills under load, a start with many messages, mosquitto's autosave.

Owns: which loads are offered to brokers that keep what they acknowledge. Must not know: how a broker is killed and its
clients counted (``mortal``), or how clients behave (``durable_load``).
"""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.durable_load import Publisher, Subscriber
from bench.mortal import kills, mortal
from bench.peers import Missing, find_mosquitto, mosquitto_autosaving
from bench.rows import INFORMATION, Row

__all__ = ["run"]

KILLS = 100
SERVED_S_MAX = 2.0
ACKNOWLEDGED_PER_S = 1_000.0
STORED = 100_000
FIRST_DELIVERY_S = 5.0
ROUNDS = 3
LOAD_S = 3.0
TIMES_MOSQUITTO = 10.0
WAIT_S_MAX = 120.0


def run(quick: bool = False) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as directory:
        places = [Path(directory) / name for name in ("kills", "stored", "beside")]
        for place in places:
            place.mkdir()
        return [
            *_kills(places[0], KILLS // 20 if quick else KILLS, quick),
            _first_delivery(places[1], STORED // 20 if quick else STORED, quick),
            _beside_mosquitto(places[2], 1 if quick else ROUNDS, quick),
        ]


def _kills(directory: Path, count: int, quick: bool) -> list[Row]:
    rows = []
    for qos in (1, 2):
        (place := directory / str(qos)).mkdir()
        (found,) = kills(place, count, (qos,), SERVED_S_MAX)
        sound = not found.lost and not found.sessions_lost and not (qos == 2 and found.doubled)
        note = f"{found.acknowledged:,} acknowledged, {found.lost} lost, {found.doubled} doubled, {found.per_s:,.0f}/s"
        measure = f"{count} kills under QoS {qos}, acknowledged meanwhile"
        bar = INFORMATION if quick or qos == 2 else 1.0
        rows.append(Row(measure, "1,000/s = 1", bar, found.per_s / ACKNOWLEDGED_PER_S if sound else 0.0, note))
    return rows


def _first_delivery(directory: Path, stored: int, quick: bool) -> Row:
    with mortal(directory) as broker:
        subscriber = Subscriber(broker.port, "sub", "t", 1)
        subscriber.start()
        subscriber.subscribed.wait(WAIT_S_MAX)
        subscriber.end()
        publisher = Publisher(broker.port, "pub", "t", 1, window=1000, size=100)
        publisher.start()
        while len(publisher.acknowledged) < stored:
            time.sleep(0.01)
        publisher.end()
        acknowledged = set(publisher.acknowledged)
        again = Subscriber(broker.port, "sub", "t", 1)
        broker.kill()
        killed_at = time.monotonic()
        broker.start()
        again.start()
        took_s = _until_first(again) - killed_at
        _until_all(again, acknowledged)
        again.end()
    lost = len(acknowledged - set(again.received))
    note = f"{took_s:.2f} s with {len(acknowledged):,} messages; {lost} lost"
    measured = math.nan if lost else FIRST_DELIVERY_S / took_s
    return Row("from kill to first delivery", "5 s = 1", INFORMATION if quick else 1.0, measured, note)


def _until_first(subscriber: Subscriber) -> float:
    limit = time.monotonic() + WAIT_S_MAX
    while not subscriber.first_at and time.monotonic() < limit:
        time.sleep(0.002)
    return subscriber.first_at or math.inf


def _until_all(subscriber: Subscriber, wanted: set[int]) -> None:
    limit = time.monotonic() + WAIT_S_MAX
    while len(subscriber.received) < len(wanted) and time.monotonic() < limit:
        time.sleep(0.05)


def _beside_mosquitto(directory: Path, rounds: int, quick: bool) -> Row:
    measure, bar = "durable QoS 1, 1 to 1, 100 in flight", INFORMATION if quick else TIMES_MOSQUITTO
    peer = "mosquitto with autosave on every change = 1"
    try:
        program, _ = find_mosquitto()
        pairs = [_round(directory, program, number) for number in range(rounds)]
    except Missing as missing:
        return Row(measure, peer, bar, math.nan, str(missing))
    ours, theirs = (median(each) for each in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    return Row(measure, peer, bar, ratio, f"{ours:,.0f}/s beside {theirs:,.0f}/s")


def _round(directory: Path, program: str, number: int) -> tuple[float, float]:
    own, others = directory / f"reknit{number}", directory / f"mosquitto{number}"
    own.mkdir()
    others.mkdir()
    with mortal(own) as broker:
        ours = _rate(broker.port)
    with mosquitto_autosaving(program, others) as peer:
        theirs = _rate(peer.publish_port)
    return ours, theirs


def _rate(port: int) -> float:
    """Messages per second that are acknowledged while a subscriber with a lasting session reads them."""
    subscriber, publisher = Subscriber(port, "sub", "t", 1), Publisher(port, "pub", "t", 1, size=100)
    subscriber.start()
    subscriber.subscribed.wait(WAIT_S_MAX)
    publisher.start()
    while not publisher.acknowledged:
        time.sleep(0.01)
    before, begun = len(publisher.acknowledged), time.monotonic()
    time.sleep(LOAD_S)
    rate = (len(publisher.acknowledged) - before) / (time.monotonic() - begun)
    publisher.end()
    subscriber.end()
    return rate
