"""Tells a story of brokers on a ring: runs the commands of a text, and writes under each what they said because of it.

``# ...`` is for the reader, ``$ ...`` is a command, all other lines are the dialogue: virtual seconds, who speaks to
whom, and what. Commands: ``ring BROKER@PLACE...`` (a place is a hexadecimal digit: there are sixteen, in a circle);
``root TOPIC`` (where its root is); ``come BROKER@PLACE``, ``drain``, ``crash``, ``lose`` (for good), ``start BROKER``;
``cut BROKER BROKER`` (one direction), ``heal [BROKER BROKER]``; ``subscribe``, ``unsubscribe BROKER CLIENT TOPIC``;
``publish BROKER TOPIC PAYLOAD``; ``places BROKER BROKER...`` (each goes where the next one is; the first manages it);
``place`` (clients by interest); ``relocate BROKER CLIENT BROKER``; ``wait SECONDS``. Each command has a second to
unfold, unless it ends with ``&``.

What keeps a ring in shape is said all the time, and is not told: who is behind whom, and who owns which finger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from reknit.core.io import Due, Effect, Observe, Relocate, Reply, Send
from reknit.core.options import BrokerOptions
from reknit.core.placement.options import PlacementOptions
from reknit.core.ring.options import RingOptions
from reknit.model.event import Event
from reknit.model.ring import BITS, owner, ring_id
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record
from reknit.wire.codec import decode
from reknit.wire.messages import Data, Message, Offer, Opened, Rest, Taken, Told, Withdraw
from reknit.wire.placement import Interest, Lasts, Passed
from reknit.wire.planes import Dismiss, Places, Report, Seats, Stage, Staged
from reknit.wire.ring import Branch, Bye, Down, Hand, Ringed, SameId, Up, Wanted
from tests.core.ring.circles import Ring
from tests.stories.retold import weave

__all__ = ["tell"]

PACE_S = 1.0
LATENCY_S = 0.01
SETUP_S = 15.0
_SHIFT = BITS - 4

_SEEN = {
    Kind.DELIVERED: "delivers {event} to {client}",
    Kind.DROPPED: "drops {event}: {detail}",
    Kind.LINK_LOST: "takes {peer} for lost: {detail}",
}


def _place(number: int) -> str:
    return f"{number >> _SHIFT:x}"


def _way(path: list[int]) -> str:
    return " - ".join(map(_place, path))


def _events(events: list[Event]) -> str:
    return ", ".join(f"{event.topic} {event.payload.decode()!r} ({event.source}#{event.seq})" for event in events)


def _said(message: Message) -> str:
    match message:
        case Ringed(word=word):
            return _in_version(message, _word(word))
        case Up(path=path, events=events):
            return _in_version(message, f"Up from {_way(path)}: {_events(events)}")
        case Down(path=path, events=events):
            return _in_version(message, f"Down from {_way(path)}: {_events(events)}")
        case Stage(step=step, places=places):
            where = ", ".join(f"{spot[1]} at {_place(spot[0])}" for spot, was in places if spot[0] != was)
            return f"{step.name} of version {message.version}" + (f": {where}" if where else "")
        case Staged(step=step, error=error):
            return f"{step.name} of version {message.version} " + (f"is not possible: {error}" if error else "is done")
        case Dismiss(reason=reason):
            return f"Dismiss version {message.version}: {reason}"
        case Places(version=version):
            return f"Places: version {version} counts"
        case Seats(seats=seats, version=version):
            return f"Seats in version {version}: " + (", ".join(map(_seat, seats)) or "none")
        case Offer() | Opened() | Rest() | Taken() | Told() | Withdraw() | Interest() | Lasts() | Passed():
            return _move(message)
        case Report(of=of, wants=wants):
            return f"Report of {of[1]}: wants {', '.join(wants) or 'nothing'}"
    return ""


def _move(message: Message) -> str:
    match message:
        case Interest(told=True, of=of, topics=topics, load=load):
            return f"Interest of {of[1]}: {', '.join(topics)}, {load} in all" if topics else ""
        case Offer(client=client, patterns=patterns):
            return f"Offer of {client}, who wants {', '.join(map(str, patterns))}"
        case Opened(client=client, refused=refused):
            return f"Opened for {client}" + (f" is it not: {refused}" if refused else "")
        case Lasts(client=client, lines=lines):
            return f"Lasts of {client}: " + ", ".join(f"{topic} up to {source}#{seq}" for source, topic, seq in lines)
        case Rest(client=client, last=last):
            return f"Rest of {client}" + (", the last part" if last else "")
        case Passed(client=client, events=events, last=last):
            return f"Passed on for {client}: {_events(events) or 'nothing'}" + (", and no more" if last else "")
        case Taken(client=client) | Told(client=client) | Withdraw(client=client):
            return f"{type(message).__name__}: {client}"
    return ""


def _in_version(message: Ringed | Up | Down, what: str) -> str:
    return f"[{message.version}] {what}" if what else ""


def _word(word: object) -> str:
    match word:
        case Wanted(topic=topic, member=member, wanted=wanted):
            return f"Wanted: {_place(member)} wants {topic}" + ("" if wanted else " no more")
        case Branch(topic=topic, member=member, grows=grows):
            return f"Branch of {topic} to {_place(member)}" + (" grows here" if grows else " is cut")
        case Hand(after=after, upto=upto, wants=wants):
            topics = ", ".join(f"{topic} for {' '.join(map(_place, members))}" for topic, members in wants)
            return f"Hand over what lies from {_place(after)} to {_place(upto)}: {topics or 'nothing'}"
        case Bye():
            return "Bye"
        case SameId(holder=holder):
            return f"SameId: {holder[1]} has it"
    return ""


def _seat(seat: tuple[str, int, int, int]) -> str:
    topic, member, parent, hop = seat
    above = "the root" if parent == -1 else f"under {_place(parent)}"
    return f"{topic} for {_place(member)} {above}" + ("" if hop == -1 else f" by way of {_place(hop)}")


class _Told(Ring):
    """A ring that writes down what is said."""

    def __init__(self) -> None:
        super().__init__("story")
        ring = RingOptions(report_s=1000.0)
        self.options = BrokerOptions(routing="rendezvous", observe=True, ring=ring)
        self.network.options = NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S)
        self.homes: dict[str, int] = {}
        self.options_of = lambda name: replace(self.options, ring=replace(ring, id=self.homes[name]))
        self.lines: list[str] = []
        self.missed: dict[tuple[str, str], None] = {}  # who is known to be taken for lost, and by whom
        self.listening = False
        self.began_at = 0.0

    def settle_at(self, word: str, *contacts: str) -> None:
        name, _, place = word.partition("@")
        self.homes[name] = int(place, 16) << _SHIFT
        self.come(name, *contacts)

    def tell(self, line: str) -> None:
        self.lines.append(f"{self.kernel.now - self.began_at:8.3f}  {line}")

    def _perform(self, name: str, effect: Effect) -> None:
        if self.listening:
            for what in self._described(name, effect):
                self.tell(what)
        super()._perform(name, effect)

    def _is_news(self, record: Record) -> bool:
        """Who is lost is called again and again; told once, until somebody is started."""
        pair = (record.node, record.peer)
        if record.kind is not Kind.LINK_LOST or record.detail == "begins anew":
            return True
        self.missed, known = {**self.missed, pair: None}, pair in self.missed
        return not known

    def start(self, name: str) -> None:
        self.missed = {}
        super().start(name)

    def _described(self, name: str, effect: Effect) -> Iterator[str]:
        match effect:
            case Send(conn=conn, frame=frame) if isinstance(said := decode(frame), Data):
                for message in said.messages:
                    if what := _said(message):
                        yield f"{name} -> {self.network.other_end(conn)}  {what}"
            case Observe(records=records):
                for record in records:
                    if record.kind in _SEEN and self._is_news(record):
                        yield f"{name}: {_seen(record)}"
            case Reply(error=error):
                yield f"{name} answers the operator: {error or 'done'}"


def _seen(record: Record) -> str:
    event = _events([record.event]) if record.event else ""
    return _SEEN[record.kind].format(event=event, client=record.client, peer=record.peer, detail=record.detail)


# --- commands


def _ring(*words: str) -> _Told:
    ring = _Told()
    for number, word in enumerate(words):
        ring.settle_at(word, *([words[0].partition("@")[0]] if number else []))
    ring.run(SETUP_S)
    ring.listening, ring.began_at = True, ring.kernel.now
    return ring


def _root(ring: _Told, topic: str) -> None:
    """Of those that live now."""
    spots = {ring.broker(name).ring.me[0]: name for name in ring.nodes if ring.is_alive(name)}
    where = owner(ring_id(topic), list(spots))
    ring.tell(f"the root of {topic} is {spots[where]}, at {_place(where)}")


def _unsubscribe(ring: _Told, broker: str, client: str, topic: str) -> None:
    ring.detach(broker, client)


def _places(ring: _Told, *movers: str) -> None:
    broker = ring.broker(movers[0])
    ring.reshape(movers[0], broker.ring.counts, ring.turned(*movers))


def _come(ring: _Told, word: str) -> None:
    ring.settle_at(word, next(name for name in ring.nodes if ring.is_alive(name)))


def _place_clients(ring: _Told) -> None:
    """From now on, by interest; for a life that begins later, too."""
    options = PlacementOptions(update_s=8.0, settle_s=0.5, load_weight=0.0)
    ring.options = replace(ring.options, placement=options)
    for name in ring.nodes:
        placement = ring.broker(name).placement
        placement.options = placement.interests.options = options
        ring.give(name, Due())


def _relocate(ring: _Told, home: str, client: str, there: str) -> None:
    ring.give(home, Relocate(client, ring.broker(there).ring.me, 1))


_DEEDS: dict[str, Callable[..., object]] = {
    "root": _root,
    "come": _come,
    "subscribe": Ring.wants,
    "unsubscribe": _unsubscribe,
    "publish": Ring.says,
    "places": _places,
    "drain": Ring.drain,
    "crash": Ring.crash,
    "lose": Ring.lose,
    "start": Ring.start,
    "cut": lambda ring, one, other: ring.network.cut(one, other),
    "heal": lambda ring, *way: ring.network.heal(*([way] if way else [])),
    "place": _place_clients,
    "relocate": _relocate,
    "wait": lambda ring, seconds: ring.run(float(seconds)),
}


def _obey(ring: _Told | None, command: str) -> _Told:
    deed, *words = command.split()
    if deed == "ring":
        return _ring(*words)
    if ring is None:
        raise ValueError("a story begins with a ring")
    if deed not in _DEEDS:
        raise ValueError(f"there is no command {deed!r}")
    at_once = words[-1:] == ["&"]
    _DEEDS[deed](ring, *(words[:-1] if at_once else words))
    if not at_once and deed not in ("wait", "root"):
        ring.run(PACE_S)
    return ring


def tell(story: str) -> str:
    """The story with the dialogue as it is; its own dialogue is not looked at."""
    return weave(story, _obey)
