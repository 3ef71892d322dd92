"""A broker with a store that is killed again and again under load, and what its clients had of it.

Owns: the broker's lives, and the count of what was acknowledged, received, lost and doubled. Must not know: what is
good.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.durable_load import Publisher, Subscriber
from bench.peers import free_ports

__all__ = ["Mortal", "Outcome", "kills", "mortal"]

START_S_MAX = 30.0
SETTLE_S_MAX = 60.0
POLL_S = 0.005
CONFIG = "[mqtt]\nqueue_messages_max = 1000000\nqueue_bytes_max = 1000000000\n"
"""Nothing may be dropped for want of room while a subscriber is on its way back."""


class Mortal:
    """One broker, over all its lives."""

    def __init__(self, directory: Path, name: str = "mortal", more: Sequence[str] = (), *, store: bool = True) -> None:
        """``more``: further options of its command."""
        self.name = name
        self.port, self.links, self._admin = free_ports(3)
        self._file = directory / f"{name}.toml"
        self._file.write_text(CONFIG)
        self._log = directory / f"{name}.log"
        self._more = [*more, *(["--store", str(directory / f"{name}.store")] if store else [])]
        self.process: subprocess.Popen[bytes] | None = None
        self.lives = 0

    @property
    def admin(self) -> str:
        return f"http://127.0.0.1:{self._admin}"

    def start(self) -> None:
        here = "127.0.0.1:"
        command = [sys.executable, "-m", "reknit", "broker", "--name", self.name, "--config", str(self._file)]
        command += ["--mqtt", f"{here}{self.port}", "--listen", f"{here}{self.links}"]
        command += ["--admin", f"{here}{self._admin}", *self._more]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        self.lives += 1

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(START_S_MAX)

    @property
    def said(self) -> str:
        return self._log.read_text()


@contextlib.contextmanager
def mortal(directory: Path, name: str = "mortal", more: Sequence[str] = (), *, store: bool = True) -> Iterator[Mortal]:
    broker = Mortal(directory, name, more, store=store)
    broker.start()
    try:
        yield broker
    finally:
        broker.end()


@dataclass(frozen=True, slots=True)
class Outcome:
    qos: int
    kills: int
    acknowledged: int
    received: int
    lost: int
    """Acknowledged to the publisher, and never received."""
    doubled: int
    sessions_lost: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.acknowledged / self.seconds


def kills(
    directory: Path, count: int, qos_of_all: tuple[int, ...] = (1, 2), served_s_max: float = 0.3, seed: int = 1
) -> list[Outcome]:
    """Kill a broker so often, each time after its clients were served for a random while, at most so long."""
    rng = random.Random(seed)
    with mortal(directory) as broker:
        subscribers = [Subscriber(broker.port, f"sub{qos}", f"t/{qos}", qos) for qos in qos_of_all]
        publishers = [Publisher(broker.port, f"pub{qos}", f"t/{qos}", qos) for qos in qos_of_all]
        for subscriber in subscribers:
            subscriber.start()
            subscriber.subscribed.wait(START_S_MAX)
        begun = time.monotonic()
        for publisher in publishers:
            publisher.start()
        for _ in range(count):
            _until_served(publishers, broker)
            time.sleep(rng.uniform(0.0, served_s_max))
            broker.kill()
            broker.start()
        _until_served(publishers, broker)
        seconds = _settle(publishers, subscribers, begun)
        for client in (*publishers, *subscribers):
            client.end()
    pairs = zip(qos_of_all, publishers, subscribers, strict=True)
    return [_outcome(qos, count, publisher, subscriber, seconds) for qos, publisher, subscriber in pairs]


def _until_served(publishers: list[Publisher], broker: Mortal) -> None:
    """Each has been acknowledged something by this life."""
    before = [(each.connections, len(each.acknowledged)) for each in publishers]
    limit = time.monotonic() + START_S_MAX
    while not all(len(each.acknowledged) > known for each, (_, known) in zip(publishers, before, strict=True)):
        if time.monotonic() > limit or any(each.failure for each in publishers):
            said = broker.said.splitlines()[-1:]
            raise TimeoutError(f"not served: {[each.failure for each in publishers]}; the broker's last word: {said}")
        time.sleep(POLL_S)


def _settle(publishers: list[Publisher], subscribers: list[Subscriber], begun: float) -> float:
    """Publish no more, and wait until all that was acknowledged has come; how long the load has lasted."""
    for publisher in publishers:
        publisher.paused.set()
    seconds = time.monotonic() - begun
    limit = time.monotonic() + SETTLE_S_MAX
    while time.monotonic() < limit:
        done = zip(publishers, subscribers, strict=True)
        if all(each.settled and set(each.acknowledged) <= set(other.received) for each, other in done):
            break
        time.sleep(0.1)
    return seconds


def _outcome(qos: int, count: int, publisher: Publisher, subscriber: Subscriber, seconds: float) -> Outcome:
    acknowledged, received = set(publisher.acknowledged), set(subscriber.received)
    return Outcome(
        qos,
        count,
        len(acknowledged),
        len(subscriber.received),
        len(acknowledged - received),
        len(subscriber.received) - len(received),
        publisher.lost + subscriber.lost,
        seconds,
    )
