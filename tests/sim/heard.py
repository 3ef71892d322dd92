"""A cluster whose links are listened to, and a small network on it in which links can be replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from reknit.core.broker import BrokerOptions
from reknit.core.io import Input, Received
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import ChangeOptions, OverlayOptions
from reknit.core.overlay.shapes import Edge
from reknit.core.routing.ideal import Tables, ideal_tables
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import Forest
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.wire.codec import decode
from reknit.wire.messages import Change, Data, Message

__all__ = ["Heard", "Stage", "Word", "differences", "quiet_links", "tables_of"]

QUIET_S = 3_600.0
SETTLE_S_MAX = 60.0
LATENCY_S = 0.01

Word: TypeAlias = tuple[str, str, Message]
"""Who said what to whom."""


def quiet_links(**fields: Any) -> LinkOptions:
    return LinkOptions(heartbeat_s=QUIET_S, silence_s_max=2 * QUIET_S, progress_s_max=2 * QUIET_S, **fields)


class Heard(Cluster):
    """``said``: all messages that have arrived."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.said: list[Word] = []
        self.network.give = self._overhear

    def _overhear(self, node: str, given: Input) -> None:
        if isinstance(given, Received):
            frame = decode(given.frame)
            if isinstance(frame, Data):
                end = self.network._ends[given.conn]
                self.said += [(end.other, node, message) for message in frame.messages]
        self.give(node, given)


class Stage(Heard):
    """``edges`` like "a-b b-c"; ``wants``: by broker, what its one client wants.

    One latency for all links, unless ``network`` says otherwise.
    """

    def __init__(self, edges: str, wants: Mapping[str, Iterable[Pattern]] | None = None, **options: Any) -> None:
        self.links = [(edge.partition("-")[0], edge.partition("-")[2]) for edge in edges.split()]
        network = options.pop("network", NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S))
        seed = options.pop("seed", "stage")
        changes = {name: options.pop(name) for name in ChangeOptions.__struct_fields__ if name in options}
        overlay = {name: options.pop(name) for name in OverlayOptions.__struct_fields__ if name in options}
        made = {
            "observe": True,
            "founded": True,
            "links": quiet_links(),
            "changes": ChangeOptions(**changes),
            "overlay": OverlayOptions(**overlay),
            **options,
        }
        super().__init__(self.links, BrokerOptions(**made), network, seed)
        self.start_all()
        self.wants = {name: list((wants or {}).get(name, ())) for name in self.nodes}
        for name, patterns in self.wants.items():
            self.attach(name, f"at {name}", patterns)
        self.rest()
        self.said.clear()

    def rest(self, within_s: float = SETTLE_S_MAX) -> None:
        assert self.settle(within_s), self.restlessness()

    def want(self, name: str, *patterns: Pattern) -> None:
        self.wants[name] += patterns
        self.subscribe(name, f"at {name}", *patterns)

    def want_no_more(self, name: str, *patterns: Pattern) -> None:
        self.wants[name] = [each for each in self.wants[name] if each not in patterns]
        self.unsubscribe(name, f"at {name}", *patterns)

    def wait(self, seconds: float) -> None:
        self.kernel.run(until=self.kernel.now + seconds)

    def unplanned(self, strategy: str, head: str, tail: str, id_: str = "c1") -> Change:
        """The old link goes; ``come`` brings the new one."""
        change = make_change(id_, strategy, head.split(), tail.split())
        self.vanish(change)
        return change

    def come(self, change: Change) -> None:
        self.appear(change)
        if change.strategy.startswith("path"):
            self.substitute(change)

    def planned(self, strategy: str, head: str, tail: str) -> int:
        return self.replace_link(strategy, head.split(), tail.split())

    def edges(self) -> list[Edge]:
        forest = Forest()
        for record in self.records:
            forest.see(record)
        return forest.edges()

    def wrong(self) -> list[str]:
        """How the tables differ from those that the links and the wishes ask for."""
        return differences(tables_of(self), ideal_tables(self.edges(), self.wants, "subscription-forwarding"))

    def entries(self, name: str) -> list[tuple[str, str]]:
        return sorted((hop, str(pattern)) for hop, pattern in tables_of(self)[name])

    def words(self, *kinds: type) -> list[Word]:
        return [word for word in self.said if not kinds or isinstance(word[2], kinds)]


def tables_of(cluster: Cluster) -> Tables:
    return {
        name: {
            (hop, pattern)
            for kind, hop in node.broker.routing.table.hops()
            if kind == "broker"
            for pattern in node.broker.routing.table.of((kind, hop))
        }
        for name, node in cluster.nodes.items()
        if node.broker is not None
    }


def differences(tables: Tables, ideal: Tables) -> list[str]:
    return [
        f"{name} {'lacks' if entry in ideal[name] else 'has a stale'} {entry[0]}, {entry[1]}"
        for name in sorted(ideal)
        for entry in sorted(tables[name] ^ ideal[name])
    ]
