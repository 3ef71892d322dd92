"""Tells a story of peers: runs the commands of a text, and writes under each what peers said to each other because of
it.

``# ...`` is for the reader, ``$ ...`` is a command, all other lines are the dialogue. Commands: ``peer NAME
[CONTACT]``, ``join``, ``leave PEER TOPIC``, ``publish PEER TOPIC``, ``crash PEER``, ``wait SECONDS``, ``forge FROM TO
COMMUNITY TOPIC`` (an event that nobody has a right to send). Each command has a second to unfold. Confirmations and
heartbeats are not told. Above ``soccer`` is nothing.

The first command may say what the world is like: ``membership NAME``; or ``brokers EDGE... BROKER=TOPIC...``, a tree of
brokers in which those with a topic are gateways. Then there are ``client BROKER NAME FILTER`` and ``post BROKER NAME
TOPIC``, too; of brokers is told what they send of events, and to whom they deliver.
"""

from __future__ import annotations

import msgspec

from reknit.community.io import Deliver, Effect, Received, Send
from reknit.community.options import GridOptions, PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.core.broker import BrokerOptions
from reknit.gateway.gateway import HERALDS
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.assembly import Assembly
from reknit.sim.junction import Junction
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record
from reknit.wire.peers import Ack, Gossip, Heartbeat, Sure, Word, decode_word, encode_word

LATENCY_S = 0.01
PACE_S = 1.0
NETWORK = NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S)


def _options(membership: str) -> PeerOptions:
    supers = SuperOptions(check_s=5.0, search_s=0.3, search_s_max=60.0)
    scamp = ScampOptions(walk_hops=0, heartbeat_s=2.0, reunion_s=0.0)
    topic = TopicOptions(scamp=scamp, supers=supers, g=100.0, a=3.0, membership=membership)
    grid = GridOptions(replicas_min=1, meet_s=4.0, meet_s_max=60.0, refresh_s=60.0, lease_s=150.0)
    return PeerOptions(topic=topic, parents={"soccer": ()}, grid=grid)


class _Told(Assembly):
    """Peers, of whom all is written down that they say."""

    def __init__(self, options: PeerOptions, network: NetworkOptions, seed: str) -> None:
        super().__init__(options, network, seed)
        self.lines: list[tuple[float, str]] = []

    def _perform(self, address: str, effects: list[Effect]) -> None:
        for effect in effects:
            what = _described(effect)
            if what:
                self.lines.append((self.kernel.now, f"{address}{what}"))
        super()._perform(address, effects)


class _World:
    """Peers alone, or brokers beside them."""

    def __init__(self, membership: str = "scamp", edges: tuple[str, ...] = (), gateways: tuple[str, ...] = ()) -> None:
        self.junction: Junction | None = None
        options = _options(membership)
        if not edges:
            self.assembly: Assembly = _Told(options, NETWORK, "story")
            return
        pairs = [(one, other) for one, _, other in (edge.partition("-") for edge in edges)]
        topics = {broker: (topic,) for broker, _, topic in (gateway.partition("=") for gateway in gateways)}
        self.junction = Junction(pairs, topics, BrokerOptions(observe=True), options, NETWORK, "story", _Told)
        self.assembly = self.junction.assembly

    def run(self, span_s: float) -> None:
        (self.junction or self.assembly).run(span_s)

    def lines(self) -> list[str]:
        """What was said since it was last asked for, in the order of time."""
        assert isinstance(self.assembly, _Told)
        said = list(self.assembly.lines)
        self.assembly.lines.clear()
        if self.junction is not None:
            records = self.junction.cluster.records
            said += [(record.time, what) for record in records if (what := _seen(record))]
            records.clear()
        return [f"{at - self.began_at:8.3f}  {what}" for at, what in sorted(said, key=lambda each: round(each[0], 6))]

    def begin(self) -> None:
        self.began_at = self.assembly.kernel.now


def _seen(record: Record) -> str:
    """What a broker has done with an event; gateways' own clients, and what they say to each other, are not told."""
    event = record.event
    if event is None or event.topic.startswith(HERALDS):
        return ""
    if record.kind is Kind.FORWARDED:
        return f"{record.node} -> {record.peer}  an event on {event.topic}"
    if record.kind is Kind.DELIVERED and not record.client.startswith("$"):
        return f"{record.node}  delivers an event on {event.topic} to {record.client}"
    return ""


def _described(effect: Effect) -> str:
    if isinstance(effect, Deliver):
        return f"  delivers an event on {effect.event.topic} to who has joined {effect.topic}"
    if not isinstance(effect, Send):
        return ""
    word = decode_word(effect.frame)
    if isinstance(word, Sure):
        word = decode_word(word.frame)
    return "" if isinstance(word, Ack | Heartbeat) else f" -> {effect.to}  {_said(word)}"


def _said(word: Word) -> str:
    if isinstance(word, Gossip):
        way = f", risen from {' and '.join(word.way)}" if word.way else ""
        return f"Gossip in {word.community}: an event on {word.event.topic}, {word.hops} hops{way}"
    values = (f"{name}={_shown(value)}" for name, value in msgspec.structs.asdict(word).items())
    return f"{type(word).__name__} {' '.join(values)}"


def _shown(value: object) -> str:
    """Of numbers that are used once, what is counted in one life."""
    if isinstance(value, int) and value > 2**32:
        return str(value % 2**32)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def tell(text: str) -> str:
    """The same story, told anew."""
    told: list[str] = []
    world = _World()
    for line in text.splitlines():
        if line.startswith("#") or (not line and told and told[-1] != ""):
            told.append(line)
        elif line.startswith("$"):
            told.append(line)
            verb, *words = line[1:].split()
            world = _world(verb, words) or world
            world.begin()
            world.run(_play(world, verb, *words))
            told += world.lines()
            told.append("")
    return "\n".join(told).rstrip() + "\n"


def _world(verb: str, words: list[str]) -> _World | None:
    """The one that a command makes, if it is such a command."""
    if verb == "membership":
        return _World(words[0])
    if verb == "brokers":
        edges, gateways = ([each for each in words if sign in each] for sign in "-=")
        return _World("scamp", tuple(edges), tuple(gateways))
    return None


def _play(world: _World, verb: str, *words: str) -> float:
    """One command; how long it has to unfold."""
    assembly, junction = world.assembly, world.junction
    match verb, words:
        case (("membership" | "brokers"), _):
            pass
        case "peer", [name, *contacts]:
            known = [f"at {each}" if junction and each in junction.gateways else each for each in contacts]
            assembly.start(name, tuple(known))
        case "join", [peer, topic]:
            assembly.join(peer, topic)
        case "leave", [peer, topic]:
            assembly.leave(peer, topic)
        case "publish", [peer, topic]:
            assembly.publish(peer, topic)
        case "crash", [broker] if junction and broker in junction.gateways:
            junction.crash(broker)
        case "crash", [peer]:
            assembly.crash(peer)
        case "wait", [seconds]:
            return float(seconds)
        case "forge", [sender, to, community, topic]:
            event = Event(topic, source="forged", seq=1)
            assembly.give(to, Received(sender, encode_word(Gossip(community, 1, (), event))))
        case "client", [broker, name, topic_filter] if junction:
            junction.cluster.attach(broker, name, [Pattern(topic_filter)])
        case "post", [broker, name, topic] if junction:
            junction.cluster.publish(broker, name, Event(topic))
        case _:
            raise ValueError(f"a story knows no command {verb!r} with {len(words)} words")
    return PACE_S
