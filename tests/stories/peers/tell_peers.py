"""Tells a story of peers: runs the commands of a text, and writes under each what peers said to each other because of
it.

``# ...`` is for the reader, ``$ ...`` is a command, all other lines are the dialogue. Commands: ``peer NAME
[CONTACT]``, ``join``, ``leave PEER TOPIC``, ``publish PEER TOPIC``, ``crash PEER``, ``wait SECONDS``, ``forge FROM TO
COMMUNITY TOPIC`` (an event that nobody has a right to send). Each command has a second to unfold. Confirmations and
heartbeats are not told. Above ``soccer`` is nothing.
"""

from __future__ import annotations

import msgspec

from reknit.community.io import Deliver, Effect, Received, Send
from reknit.community.options import PeerOptions, ScampOptions, SuperOptions, TopicOptions
from reknit.model.event import Event
from reknit.sim.assembly import Assembly
from reknit.sim.network import NetworkOptions
from reknit.wire.peers import Ack, Gossip, Heartbeat, Sure, Word, decode_word, encode_word

LATENCY_S = 0.01
PACE_S = 1.0


class _Told(Assembly):
    def __init__(self) -> None:
        supers = SuperOptions(check_s=5.0, search_s=0.3, search_s_max=60.0)
        scamp = ScampOptions(walk_hops=0, heartbeat_s=2.0, reunion_s=0.0)
        topic = TopicOptions(scamp=scamp, supers=supers, g=100.0, a=3.0)
        network = NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S)
        super().__init__(PeerOptions(topic=topic, parents={"soccer": ()}), network, "story")
        self.lines: list[str] = []
        self.began_at = 0.0

    def _perform(self, address: str, effects: list[Effect]) -> None:
        for effect in effects:
            what = _described(effect)
            if what:
                self.lines.append(f"{self.kernel.now - self.began_at:8.3f}  {address}{what}")
        super()._perform(address, effects)


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
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def tell(text: str) -> str:
    """The same story, told anew."""
    told, assembly = [], _Told()
    for line in text.splitlines():
        if line.startswith("#") or (not line and told and told[-1] != ""):
            told.append(line)
        elif line.startswith("$"):
            told.append(line)
            assembly.lines, assembly.began_at = [], assembly.kernel.now
            _run(assembly, *line[1:].split())
            told += assembly.lines
            told.append("")
    return "\n".join(told).rstrip() + "\n"


def _run(assembly: _Told, verb: str, *words: str) -> None:
    span = PACE_S
    match verb, words:
        case "peer", [name, *contacts]:
            assembly.start(name, tuple(contacts))
        case "join", [peer, topic]:
            assembly.join(peer, topic)
        case "leave", [peer, topic]:
            assembly.leave(peer, topic)
        case "publish", [peer, topic]:
            assembly.publish(peer, topic)
        case "crash", [peer]:
            assembly.crash(peer)
        case "wait", [seconds]:
            span = float(seconds)
        case "forge", [sender, to, community, topic]:
            event = Event(topic, source="forged", seq=1)
            assembly.give(to, Received(sender, encode_word(Gossip(community, 1, (), event))))
        case _:
            raise ValueError(f"a story knows no command {verb!r} with {len(words)} words")
    assembly.run(span)
