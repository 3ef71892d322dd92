"""What a broker has counted, for Prometheus.

Owns: the names of the metrics, their help and their few labels: broker, link, packet, qos, reason. Must not know: who
counts. Nothing is kept here; each time somebody asks, the counters are read as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from reknit.live import look

if TYPE_CHECKING:
    from reknit.live.driver import Driver
    from reknit.live.ledger import StoreCounters

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SHELL = {
    "clients_accepted": "Connections of clients that were accepted.",
    "clients_refused": "Connections of clients beyond the bound.",
    "clients_paused": "Times that a client's socket was full.",
    "passwords_unread": "Passwords that were refused unread: too many waited, or there is no file of them.",
    "clients_too_slow": "Clients that were cut since they did not read.",
    "links_accepted": "Connections of other brokers that were accepted.",
    "links_dialled": "Connections to other brokers that were made.",
    "links_closed": "Connections of brokers that were not wanted any longer.",
    "failures": "Exceptions that nothing else had handled; each is a bug.",
    "turns": "Times that the broker had something to do.",
    "writes": "Times that it wrote to a socket.",
}


_RECOVERY = {
    "gaps": "Runs of events that were found missing.",
    "lost": "Events that were found missing.",
    "recovered": "Events that came back.",
    "given_up": "Of those found missing, what has not come in time, or had to make room.",
    "cut": "Of those found missing, what was never asked for: beyond the bound of one gap.",
    "heartbeats": "Messages that say the last numbers.",
    "gossip": "Other messages of recovery along the tree.",
    "requests": "Messages past the tree that ask for something.",
    "repairs": "Datagrams with events that somebody had lost.",
    "repaired": "The events in them.",
    "waited": "Events that were held for a client that wants order.",
    "hurried": "Of those, what went though something was still missing before it.",
    "unnumbered": "Numbers that events published here have not, for patterns beyond the bound of one event.",
    "malformed": "Datagrams that nobody can read.",
    "replayed": "Messages of recovery that were heard before.",
    "unasked": "Answers to no question, and events that nobody here misses.",
    "unentitled": "Questions of those who may not read what they ask for.",
    "unheard_of": "Numbers beyond what one message may name.",
    "never_were": "Numbers that somebody spoke of and nobody has given.",
    "unconfirmed": "Numbers that somebody spoke of and that were given up, though nothing shows that they have been.",
    "hearsay": "Numbers that somebody spoke of, though nothing that has come stands for them.",
}


class Metrics(Collector):
    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._broker = driver.broker.name
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand: what there is, is known when somebody asks."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        counted = look.count(self._driver)
        for name, text in _SHELL.items():
            yield self._counter(name, text, {"": counted["shell"][name]})
        yield from self._door()
        yield from self._links()
        if (recovery := self._driver.broker.recovery) is not None:
            yield from self._recovery(recovery.shown())
        if self._driver.store is not None:
            yield from self._store(self._driver.store)
        if self._driver.gateway is not None:
            yield from self._communities(self._driver.gateway())

    def _communities(self, counted: Mapping[str, Mapping[str, int]]) -> Iterator[Metric]:
        text = "Events between brokers and peers, by what became of them."
        yield self._counter("gateway_events", text, counted["gateway"], "reason")
        yield self._counter("peer", "What the peer beside the broker has counted.", counted["peer"], "reason")

    def _recovery(self, shown: Mapping[str, Any]) -> Iterator[Metric]:
        for name, text in _RECOVERY.items():
            yield self._counter(f"recovery_{name}", text, {"": shown[name]})
        yield self._gauge("recovery_missing", "Events that are asked for.", {"": shown["missing"]})
        yield self._gauge("recovery_cached", "Events that are kept for others.", {"": shown["cached"]})
        yield self._gauge("recovery_cached_bytes", "Their bytes.", {"": shown["cached_bytes"]})

    def _store(self, counted: StoreCounters) -> Iterator[Metric]:
        yield self._counter("store_commits", "Batches that were written and synced.", {"": counted.commits})
        yield self._counter("store_commit_seconds", "What they took, together.", {"": counted.commit_s})
        yield self._counter("store_commits_failed", "Batches that could not be written.", {"": counted.commits_failed})
        yield self._counter("store_entries_kept", "Entries that were written.", {"": counted.entries_kept})
        yield self._counter("store_entries_dropped", "Entries that were dropped.", {"": counted.entries_dropped})
        yield self._counter("store_pauses", "Times that too much waited for the store.", {"": counted.pauses})
        yield self._gauge("store_held_bytes", "Bytes that wait for the store.", {"": counted.held_bytes})

    def _door(self) -> Iterator[Metric]:
        counters = self._driver.door.counters
        yield self._gauge("clients", "Clients that are connected.", {"": counters.connections})
        yield self._gauge("sessions", "Sessions, with and without a connection.", {"": counters.sessions})
        queued = self._driver.door.queued
        yield self._gauge("queued_messages", "Messages that clients have not taken yet.", {"": queued})
        yield self._counter("received_bytes", "Bytes from clients.", {"": counters.bytes_received})
        yield self._counter("sent_bytes", "Bytes to clients.", {"": counters.bytes_sent})
        yield self._counter("malformed", "Packets that were none.", {"": counters.malformed})
        yield self._counter("packets_received", "Packets from clients.", counters.received, "packet")
        yield self._counter("packets_sent", "Packets to clients.", counters.sent, "packet")
        yield self._counter("publishes_received", "PUBLISHes from clients.", _by_qos(counters.published), "qos")
        yield self._counter("publishes_sent", "PUBLISHes to clients.", _by_qos(counters.delivered), "qos")
        yield self._counter("refused", "What clients asked for in vain.", counters.refused, "reason")
        yield self._counter("dropped", "Messages that were not delivered.", counters.dropped, "reason")

    def _links(self) -> Iterator[Metric]:
        links = look.neighbours(self._driver)
        up = {name: int(each["up"]) for name, each in links.items()}
        waiting = {name: each["outbox_bytes"] for name, each in links.items()}
        yield self._gauge("link_up", "Whether the link to this neighbour is up.", up, "link")
        yield self._gauge("link_outbox_bytes", "Bytes that this neighbour has not settled.", waiting, "link")
        unrouted = self._driver.broker.transit.unrouted
        refused = self._driver.broker.book.refused
        yield self._counter("book_refused", "Lines of the book for which there was no room.", {"": refused})
        yield self._counter("unrouted", "Events that may not have got where they were wanted.", {"": unrouted})

    def _counter(self, name: str, text: str, values: Mapping[str, float], label: str = "") -> Metric:
        family = CounterMetricFamily(f"reknit_{name}", text, labels=self._labels(label))
        return self._filled(family, values, label)

    def _gauge(self, name: str, text: str, values: Mapping[str, float], label: str = "") -> Metric:
        family = GaugeMetricFamily(f"reknit_{name}", text, labels=self._labels(label))
        return self._filled(family, values, label)

    def _labels(self, label: str) -> list[str]:
        return ["broker", label] if label else ["broker"]

    def _filled(
        self, family: CounterMetricFamily | GaugeMetricFamily, values: Mapping[str, float], label: str
    ) -> Metric:
        for key, value in sorted(values.items()):
            family.add_metric([self._broker, key.lower()] if label else [self._broker], value)
        return family


def _by_qos(counted: Sequence[int]) -> dict[str, float]:
    return {str(qos): count for qos, count in enumerate(counted)}
