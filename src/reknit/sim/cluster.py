"""A whole network in one process: brokers behind the very door that the live runtime uses, in virtual time.

Owns: the nodes and their lives, the alarms, the clients, the trace. Must not know: what a run is meant to show.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from reknit.core.broker import Broker, BrokerOptions
from reknit.core.brokers import make_broker
from reknit.core.io import (
    AddLink,
    Attach,
    Close,
    Deliver,
    DeliverShared,
    Detach,
    Dial,
    Discard,
    Drain,
    Due,
    Effect,
    Ended,
    Export,
    Import,
    Input,
    Join,
    Kept,
    LinkAppeared,
    LinkVanished,
    Observe,
    Part,
    Publish,
    Redirect,
    Refer,
    Remember,
    RemoveLink,
    Replace,
    Reply,
    Reshape,
    Retain,
    Send,
    SendDirect,
    Subscribe,
    Substitute,
    Survey,
    SwapLink,
    Thaw,
    Unsubscribe,
)
from reknit.core.ring_broker import RingBroker
from reknit.core.routing.table import client as client_hop
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.planning.survey import better_places
from reknit.sim.clients import Clients
from reknit.sim.kernel import Kernel
from reknit.sim.network import Network, NetworkOptions
from reknit.sim.shelf import Shelf
from reknit.trace.records import Kind, Record
from reknit.wire.messages import Change
from reknit.wire.planes import Place

__all__ = ["Cluster", "Node", "Runaway"]

CALM_POLL_S = 0.25


class Runaway(Exception):
    """The brokers keep each other, or themselves, busy for ever."""


@dataclass(slots=True)
class Node:
    name: str
    neighbours: dict[str, str]  # to be linked with
    links: dict[str, str] = field(default_factory=dict)  # what it remembers from the life before
    notes: str = ""  # of the same
    leaves: bool = False  # of the same
    retained: dict[str, Event] = field(default_factory=dict)  # of this life, by topic
    broker: Broker | None = None
    incarnation: int = 0
    paused: bool = False
    inbox: deque[Input] = field(default_factory=deque)  # what comes while it is paused
    alarm: float | None = None
    heir: str = ""  # where its clients were sent
    gone: bool = False  # it was drained, and has left for good
    lost: bool = False  # it has died for good
    shelf: Shelf | None = None  # of a broker that has a store


class Cluster:
    def __init__(
        self, edges: Iterable[tuple[str, str]], options: BrokerOptions, network: NetworkOptions, seed: str
    ) -> None:
        """The greater name of each edge dials, as ``reknit up`` has it. ``durable`` brokers have stores."""
        self.kernel = Kernel()
        self.kind: Callable[..., Broker] = make_broker
        self.options = options
        self.seed = seed
        self.rng = random.Random(f"{seed}/cluster")
        self.network = Network(self.kernel, network, random.Random(f"{seed}/network"), self.give, self.is_alive)
        self.records: list[Record] = []
        self.replies: dict[int, str] = {}
        self.clients = Clients(self.kernel, random.Random(f"{seed}/clients"), self.records, self.give)
        self.nodes: dict[str, Node] = {}
        self.sent: Callable[[str, str, bytes], None] | None = None  # is told who sends a frame to whom
        self.sent_directly: Callable[[str, str, bytes], None] | None = None  # the same, past the tree
        self.observed: Callable[[Iterable[Record]], None] | None = None  # is told what brokers have seen in a turn
        self.options_of: Callable[[str], BrokerOptions] = lambda _: self.options  # by broker
        self.order_of: Callable[[str], float] = lambda _: 0.0  # how long events may wait for earlier ones, by client
        self.steps = 0  # inputs handled
        self.steps_max: int | None = None
        self._requests = 0
        for one, other in edges:
            low, high = sorted((one, other))
            self.nodes.setdefault(low, Node(low, {})).neighbours[high] = ""
            self.nodes.setdefault(high, Node(high, {})).neighbours[low] = low

    def add_node(self, name: str) -> None:
        self.nodes[name] = Node(name, {})

    def start_all(self) -> None:
        for name in self.nodes:
            self.start(name)

    # --- lives

    def start(self, name: str) -> None:
        node = self.nodes[name]
        if node.gone or node.lost:
            return
        node.incarnation += 1
        rng = random.Random(f"{self.seed}/{name}/{node.incarnation}")
        known = (dict(node.neighbours), name, dict(node.links), node.notes, node.leaves)
        node.broker = self.kind(name, node.incarnation, self.options_of(name), rng, *known, new=node.incarnation == 1)
        node.paused, node.alarm = False, None
        node.inbox.clear()
        node.retained.clear()
        if self.options.durable:
            node.shelf = node.shelf or Shelf()
            self.clients.begin_anew(name)
            self.give(name, node.shelf.recall())
        self.give(name, Due())

    def crash(self, name: str) -> None:
        node = self.nodes[name]
        if node.broker is not None:
            if node.shelf is not None:
                node.shelf.leave(node.broker)
            else:
                self.clients.crash(name)
            node.broker = None
            node.inbox.clear()
            node.paused = False
            self.records.append(Record(self.kernel.now, name, Kind.CRASHED))
            self.network.crash(name)

    def start_again(self, name: str) -> None:
        """Unless somebody has done so already."""
        if not self.is_alive(name):
            self.start(name)

    def lose(self, name: str) -> None:
        """It dies, and never comes back."""
        self.nodes[name].lost = True
        self.crash(name)

    def find_again(self, name: str) -> None:
        """Who was lost comes back after all."""
        self.nodes[name].lost = False
        self.start(name)

    def pause(self, name: str) -> None:
        self.nodes[name].paused = True
        self.records.append(Record(self.kernel.now, name, Kind.PAUSED))

    def cut(self, name: str, peer: str) -> None:
        self.network.cut(name, peer)
        self.records.append(Record(self.kernel.now, name, Kind.CUT, peer=peer))

    def resume(self, name: str) -> None:
        node = self.nodes[name]
        node.paused = False
        while node.inbox and not node.paused and node.broker is not None:
            self._handle(node, node.inbox.popleft())

    def is_alive(self, name: str) -> bool:
        return self.nodes[name].broker is not None

    # --- inputs and effects

    def give(self, name: str, given: Input) -> None:
        node = self.nodes[name]
        if node.broker is None:
            return
        if node.paused:
            node.inbox.append(given)
        else:
            self._handle(node, given)

    def _handle(self, node: Node, given: Input) -> None:
        broker = node.broker
        assert broker is not None
        self.steps += 1
        if self.steps_max is not None and self.steps > self.steps_max:
            raise Runaway(f"{self.steps_max} inputs were handled, and there is no end; the last by {node.name}")
        if isinstance(given, Attach):
            self.clients.attach(node.name, given.client)
        elif isinstance(given, Detach):
            self.clients.detach(node.name, given.client)
        effects = broker.handle(given, self.kernel.now)
        self._set_alarm(node, broker)
        for effect in effects:
            self._perform(node.name, effect)

    def _perform(self, name: str, effect: Effect) -> None:
        match effect:
            case Send(conn=conn, frame=frame):
                if self.sent is not None:
                    self.sent(name, self.network.other_end(conn), frame)
                self.network.send(conn, frame)
            case Deliver(event=event, matches=matches):
                for client, _ in matches:
                    self.clients.deliver(name, client, event)
            case DeliverShared(event=event, client=client):
                self.clients.deliver(name, client, event)
            case Observe(records=records):
                self.records.extend(records)
                if self.observed is not None:
                    self.observed(records)
            case SendDirect(peer=peer, datagram=datagram):
                if self.sent_directly is not None:
                    self.sent_directly(name, peer, datagram)
                self.network.send_directly(name, peer, datagram)
            case Close(conn=conn):
                self.network.close(conn)
            case Dial(peer=peer):
                self.network.dial(name, peer)
            case Reply(request=request, error=error):
                self.replies[request] = error
            case Remember(neighbours=links, wanted=wanted, notes=notes, leaves=leaves):
                node = self.nodes[name]
                node.links, node.neighbours, node.notes, node.leaves = links, wanted, notes, leaves
            case Retain(event=event):
                self.nodes[name].retained[event.topic] = event
            case Survey():
                if places := better_places(effect):
                    self.kernel.after(0.0, self.reshape, name, effect.base, places)
            case _ if isinstance(effect, Kept):
                if (shelf := self.nodes[name].shelf) is not None:
                    shelf.perform(effect)
            case _:
                self._perform_move(name, effect)

    def _perform_move(self, name: str, effect: Effect) -> None:
        match effect:
            case Export(client=client):
                self.clients.export(name, client)
            case Thaw(client=client):
                self.clients.thaw(name, client)
            case Redirect(client=client, broker=broker):
                self.clients.redirect(name, client, broker)
            case Import(client=client, state=state):
                self.clients.import_(name, client, state)
                self._say_order(name, client)
            case Discard(client=client, taken_over=taken_over):
                (self.clients.oust if taken_over else self.clients.detach)(name, client)
            case Refer(broker=broker):
                self.nodes[name].heir = broker
            case Ended():
                self._end(name)

    def _say_order(self, name: str, client: str) -> None:
        """A session that has come, or was kept: the broker knows what it wants, but not in which order."""
        node = self.nodes[name]
        if (order_s := self.order_of(client)) and node.broker is not None:
            patterns = node.broker.routing.table.of(client_hop(client))
            self.kernel.after(0.0, self.give, name, Subscribe(client, tuple(patterns), order_s))

    def _end(self, name: str) -> None:
        node = self.nodes[name]
        node.gone, node.broker = True, None
        self.network.crash(name)

    def _set_alarm(self, node: Node, broker: Broker) -> None:
        at = broker.deadline()
        if at is not None and (node.alarm is None or at < node.alarm):
            node.alarm = at
            self.kernel.at(at, self._ring, node, at, broker)

    def _ring(self, node: Node, at: float, broker: Broker) -> None:
        if node.broker is broker and node.alarm == at:
            node.alarm = None
            self.give(node.name, Due())

    # --- clients and operators

    def attach(self, broker: str, client: str, patterns: Iterable[Pattern] = ()) -> None:
        self.give(broker, Attach(client))
        self.give(broker, Subscribe(client, tuple(patterns), self.order_of(client)))

    def detach(self, broker: str, client: str) -> None:
        self.give(broker, Detach(client))

    def subscribe(self, broker: str, client: str, *patterns: Pattern) -> None:
        self.give(broker, Subscribe(client, patterns, self.order_of(client)))

    def unsubscribe(self, broker: str, client: str, *patterns: Pattern) -> None:
        self.give(broker, Unsubscribe(client, patterns))

    def join(self, broker: str, client: str, group: str, pattern: Pattern) -> None:
        self.give(broker, Join(client, ((group, pattern),)))

    def part(self, broker: str, client: str, group: str, pattern: Pattern) -> None:
        self.give(broker, Part(client, ((group, pattern),)))

    def publish(self, broker: str, client: str, *events: Event) -> None:
        self.give(broker, Publish(client, events))

    def add_link(self, one: str, other: str) -> int:
        self._requests += 1
        self.give(one, AddLink(other, other, self._requests))
        return self._requests

    def remove_link(self, one: str, other: str) -> int:
        self._requests += 1
        self.give(one, RemoveLink(other, self._requests))
        return self._requests

    def reshape(self, manager: str, base: int, places: Sequence[Place]) -> int:
        self._requests += 1
        self.give(manager, Reshape(base, tuple(places), self._requests))
        return self._requests

    def drain(self, name: str) -> int:
        self._requests += 1
        self.give(name, Drain(self._requests))
        return self._requests

    def swap(self, mover: str, middle: str, goal: str) -> int:
        self._requests += 1
        self.give(mover, SwapLink(middle, goal, self._requests))
        return self._requests

    def replace_link(self, strategy: str, head: Sequence[str], tail: Sequence[str], address: str = "") -> int:
        """The link between the first of ``head`` and the last of ``tail``, by one between the others, as planned.

        ``address``: what the others are told of where the first of ``tail`` is; here a name will do.
        """
        self._requests += 1
        self.give(head[0], Replace(strategy, tuple(head), tuple(tail), address or tail[0], self._requests))
        return self._requests

    # --- links that come and go by themselves

    def vanish(self, change: Change) -> None:
        """The old link of ``change`` is gone at both ends, and what was in flight with it."""
        first, last = change.path[0], change.path[-1]
        self.give(first, LinkVanished(last, change.strategy, change.id))
        self.give(last, LinkVanished(first, change.strategy, change.id))

    def appear(self, change: Change) -> None:
        """The new link of ``change`` is there; the greater name dials."""
        near, far = change.path[change.near : change.near + 2]
        for one, other in ((near, far), (far, near)):
            self.give(one, LinkAppeared(other, other if one > other else "", change))

    def substitute(self, change: Change) -> None:
        self.give(change.path[0], Substitute(change))

    # --- rest

    def is_calm(self) -> bool:
        """Nothing is in flight, under way or waiting anywhere."""
        return self.clients.at_rest and all(
            self._node_is_calm(node) for node in self.nodes.values() if not node.gone and not node.lost
        )

    def _node_is_calm(self, node: Node) -> bool:
        broker = node.broker
        if broker is None or node.paused or not broker.gate.open:
            return False
        if isinstance(broker, RingBroker):
            return not broker.unrest() and broker.sessions.at_rest and broker.shares.at_rest
        if not broker.overlay.at_rest or not broker.sessions.at_rest:
            return False
        if not broker.replacing.at_rest or not broker.shares.at_rest:
            return False
        if broker.recovery is not None and not broker.recovery.at_rest:
            return False
        return all(link.greeted and link.idle for link in broker.links.of.values())

    def settle(self, within_s: float) -> bool:
        """Run until all is calm, and say so in the trace. False if it is not in time."""
        limit = self.kernel.now + within_s
        while True:
            self.kernel.run(until=self.kernel.now + CALM_POLL_S)
            if self.is_calm():
                self.records.append(Record(self.kernel.now, "", Kind.CALM))
                return True
            if self.kernel.now >= limit:
                return False

    def restlessness(self) -> str:
        """Why it is not calm, for a person to read."""
        reasons: list[str] = []
        for node in self.nodes.values():
            if node.gone or node.lost:
                continue
            if node.broker is None or node.paused:
                reasons.append(f"{node.name} is {'down' if node.broker is None else 'paused'}")
            elif not self._node_is_calm(node):
                table = node.broker.table()
                drain = node.broker.sessions.progress()
                reasons.append(f"{node.name}: waits for {table['waiting_for']}, links {table['neighbours']}, {drain}")
        return "; ".join(reasons)
