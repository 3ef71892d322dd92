"""Tells a story: runs the commands of a text, and writes under each what the brokers said and saw because of it.

A story is a text of three kinds of lines. ``# ...`` is for the reader, ``$ ...`` is a command, and all others are the
dialogue that the command above them has caused: virtual seconds, who speaks to whom, and what. Everything goes through
the real codec in the simulator, with one latency and one seed, so a story can only change when the protocol does.

Commands: ``network EDGE... [routing=NAME] [lost=SECONDS] [recovery=NAME] [covering] [acks] [settled] [aloud] [unique]``
(an edge is ``b1-b2``, a lone broker ``b3``; ``aloud`` tells the greetings too; in a ``unique`` one a client has one
session; with ``recovery`` links may lose events); ``subscribe``, ``unsubscribe BROKER CLIENT PATTERN``; ``order BROKER
CLIENT PATTERN SECONDS`` (subscribe, and let events wait for earlier ones for so long); ``detach BROKER WHO``; ``publish
BROKER CLIENT TOPIC [name=value...]``; ``join``, ``part BROKER CLIENT GROUP PATTERN``; ``link``, ``unlink``, ``break``,
``cut BROKER BROKER`` (a cut stops one direction); ``lose BROKER BROKER COUNT`` (so many of the next datagrams with
events in this direction); ``sever BROKER BROKER`` (a cut for good); ``heal``; ``swap MOVER MIDDLE GOAL``; ``vanish``,
``appear``, ``substitute ID STRATEGY HEAD TAIL`` (a link goes and another comes by themselves; ``HEAD`` and ``TAIL`` are
brokers joined by commas), ``replace STRATEGY HEAD TAIL`` (as planned); ``drain``, ``crash``, ``start``, ``pause``,
``resume``, ``stall``, ``recover BROKER``; ``wait SECONDS``. Each command has a second to unfold, unless it ends with
``&``.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import get_args

import msgspec

from reknit.core.broker import BrokerOptions
from reknit.core.homes.options import HomeOptions
from reknit.core.io import Discard, Effect, Input, Observe, Received, Reply, Send, SendDirect
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import RepairOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record
from reknit.wire import messages as wire
from reknit.wire.codec import decode, decode_direct
from tests.stories.retold import weave

__all__ = ["tell"]

PACE_S = 1.0
LATENCY_S = 0.01
SETUP_S_MAX = 20.0

_SEEN: dict[Kind, str] = {
    Kind.DELIVERED: "delivers {event} to {client}",
    Kind.SHARED: "delivers {event} to {client}, whose turn it is in {detail}",
    Kind.PASSED_ON: "sends {event} on to {peer}, for {detail}",
    Kind.DROPPED: "drops {event} from {peer}: {detail}",
    Kind.LINK_UP: "link to {peer} is up",
    Kind.LINK_DOWN: "link to {peer} is down: {detail}",
    Kind.LINK_ADDED: "has a new neighbour, {peer}",
    Kind.LINK_REMOVED: "has lost a neighbour, {peer}: {detail}",
    Kind.LINK_LOST: "takes {peer} for lost: {detail}",
    Kind.LINK_MOVED: "has moved its link from {detail} to {peer}",
    Kind.LINK_HANDED: "has handed its link with {peer} over to {detail}",
    Kind.LINK_TAKEN: "has taken the link of {peer} over from {detail}",
    Kind.LINK_STALLED: "reports {peer} as stalled: {detail}",
    Kind.REFUSED: "has no link to {peer}: {detail}",
    Kind.MOVED_IN: "has taken over {client} from {peer}",
    Kind.MOVED_OUT: "has sent {client} to {peer}",
    Kind.WAITING: "holds {event} for {client}",
    Kind.GAP: "misses {detail} of {pattern}",
    Kind.RECOVERED: "has {event} back, from {peer}",
    Kind.GIVEN_UP: "gives up {detail} of {pattern}",
    Kind.SETTLED: "knows {event} to be in safe hands",
}


class _Told(Cluster):
    """A cluster that writes down what is said. ``stalled`` brokers take frames and answer heartbeats, no more."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.lines: list[str] = []
        self.listening = False
        self.began_at = 0.0
        self.shown: set[str] = set()
        self.stalled: dict[str, None] = {}
        self._others: dict[int, str] = {}  # by connection: who is, or was, at its other end
        self._sessions: dict[int, str] = {0: "none"}
        self._rounds: dict[int, str] = {}
        self.losing: dict[tuple[str, str], int] = {}  # by direction: how many datagrams with events

    def give(self, name: str, given: Input) -> None:
        if name in self.stalled and isinstance(given, Received) and isinstance(decode(given.frame), wire.Data):
            return
        super().give(name, given)

    def _perform(self, name: str, effect: Effect) -> None:
        if self.listening:
            for what in self._described(name, effect):
                self.lines.append(f"{self.kernel.now - self.began_at:8.3f}  {what}")
        if not self._is_lost(name, effect):
            super()._perform(name, effect)

    def _is_lost(self, name: str, effect: Effect) -> bool:
        if not self.losing or not isinstance(effect, Send) or not isinstance(decode(effect.frame), wire.Loose):
            return False
        way = (name, self.network.other_end(effect.conn))
        self.losing[way] = self.losing.get(way, 0) - 1
        return self.losing[way] >= 0

    def _described(self, name: str, effect: Effect) -> Iterator[str]:
        match effect:
            case Send(conn=conn, frame=frame):
                open_end = self.network._ends.get(conn)
                if open_end is not None:
                    self._others[conn] = open_end.other
                end = "" if open_end else "  (into the void)"
                if isinstance(decode(frame), wire.Loose) and self.losing.get((name, self._others[conn]), 0) > 0:
                    end = "  (lost)"
                for what in self._said(decode(frame)):
                    yield f"{name} -> {self._others[conn]}  {what}{end}"
            case SendDirect(peer=peer, datagram=datagram):
                yield f"{name} => {peer}  {self._gossip(decode_direct(datagram))}"
            case Observe(records=records):
                for record in records:
                    if record.kind in _SEEN and (record.kind is not Kind.SETTLED or "settled" in self.shown):
                        yield f"{name}: {_seen(record)}"
            case Discard(client=client, taken_over=True):
                yield f"{name}: ends the session of {client}, who is at home elsewhere"
            case Reply(error=error):
                yield f"{name} answers the operator: {error or 'done'}"

    def _said(self, frame: wire.Frame) -> Iterator[str]:
        match frame:
            case wire.Hello():
                joins = f", joins for wave {_wave(frame.wave)}" if frame.wave else ""
                joins = ", new and alone, joins" if frame.alone else joins
                linked = "a neighbour" if frame.linked else "no neighbour"
                session = self._sessions.setdefault(frame.session, f"S{len(self._sessions)}")
                has = f" up to {frame.received}" if frame.session else ""
                yield f"Hello from life {frame.incarnation}, {linked}, session {session}{has}{joins}"
            case wire.Data():
                for message in frame.messages:
                    yield f"[{frame.seq}] {self._told(message)}"
            case wire.Loose():
                for message in frame.messages:
                    yield f"[once] {self._told(message)}"
            case wire.Ack(received=received, settled=settled):
                if "acks" in self.shown:
                    yield f"Ack received {received}, settled {settled}"
            case wire.Refuse(reason=reason):
                manner = "for now" if frame.retry else "for good"
                yield f"Refuse {manner}: {reason}"
            case wire.Farewell(reason=reason):
                yield f"Farewell: {reason}"

    def _told(self, message: wire.Message) -> str:
        return self._gossip(message) if isinstance(message, wire.Gossip) else _message(message)

    def _gossip(self, message: wire.Gossip | wire.Direct) -> str:
        match message:
            case wire.Silent(source=source, numbers=numbers, route=route):
                last = ", ".join(f"{number} of {self._pattern(signature)}" for signature, number in numbers)
                return f"Silent: the last of {source} is {last}" + _way(route)
            case wire.Keeps(asker=asker, signature=signature, kept=kept):
                return f"Keeps, {self._asker(asker)}: of {self._pattern(signature)} {_digest(kept)}"
            case wire.Misses(asker=asker, signature=signature, lost=lost, manner=manner):
                to = "" if manner is wire.Manner.SUBSCRIBERS else f" (to {manner.name.lower()})"
                return f"Misses, {self._asker(asker)}: of {self._pattern(signature)} {_digest(lost)}{to}"
            case wire.MissesOf(asker=asker, source=source, lost=by_pattern, route=route):
                what = ", ".join(f"{_runs(runs)} of {self._pattern(signature)}" for signature, _, runs in by_pattern)
                return f"MissesOf {source}, {self._asker(asker)}: {what}; ahead {' - '.join(route)}"
            case wire.Wants(asker=asker, signature=signature, lost=lost):
                return f"Wants, {self._asker(asker)}: of {self._pattern(signature)} {_digest(lost)}"
            case wire.Repair(round=number, events=events, gone=gone, old=old, never=never):
                parts = list(map(_event, events))
                for word, of in (("gone", gone), ("too old", old), ("never was", never)):
                    parts += [f"{word}: {_runs(runs)} of {self._pattern(signature)}" for signature, runs in of]
                return f"Repair in {self._round(number)}: " + ", ".join(parts)

    def _round(self, number: int) -> str:
        return self._rounds.setdefault(number, f"R{len(self._rounds) + 1}")

    def _asker(self, asker: wire.Asker) -> str:
        return f"{self._round(asker.round)} of {asker.name}"

    def _pattern(self, signature: int) -> str:
        brokers = [node.broker for node in self.nodes.values() if node.broker is not None]
        tables = [broker.recovery.talk.signatures.patterns for broker in brokers if broker.recovery is not None]
        return next(str(patterns[signature]) for patterns in tables if signature in patterns)


def _digest(digest: list[tuple[str, list[wire.Range]]]) -> str:
    return ", ".join(f"{source} {_runs(runs)}" for source, runs in digest)


def _runs(runs: list[wire.Range]) -> str:
    return "+".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)


def _way(route: tuple[str, ...]) -> str:
    return f", by way of {' - '.join(route)}" if route else ""


def _seen(record: Record) -> str:
    event = _event(record.event) if record.event else ""
    who = {"client": record.client, "peer": record.peer, "detail": record.detail, "pattern": record.pattern}
    return _SEEN[record.kind].format(event=event, **who)


def _wave(wave: wire.Wave) -> str:
    return f"{wave[0]}/{wave[1]}"


def _event(event: Event) -> str:
    attributes = "".join(f" {name}={value}" for name, value in event.attributes.items())
    return f"{event.topic}{attributes} ({event.source}#{event.seq})"


def _patterns(patterns: list[Pattern]) -> str:
    return ", ".join(map(str, patterns)) or "nothing"


def _message(message: wire.Message) -> str:
    match message:
        case wire.Events(events=events):
            return "Events " + ", ".join(map(_event, events))
        case wire.Sub(patterns=patterns):
            return f"Sub {_patterns(patterns)}"
        case wire.Unsub(patterns=patterns):
            return f"Unsub {_patterns(patterns)}"
        case wire.Known(origin=origin, added=added, removed=removed):
            return f"Known of {origin}: wants {_patterns(added)}; no more {_patterns(removed)}"
        case wire.Snapshot(entries=entries):
            wishes = "; ".join((f"{origin}: " if origin else "") + _patterns(each) for origin, each in entries)
            return f"Snapshot {wishes or 'nothing'}" + ("" if message.last else " ...")
        case wire.Seek(wave=wave, target=target, path=path):
            return f"Seek {target} for wave {_wave(wave)}, by way of {' - '.join(path)}"
        case wire.Sought(wave=wave, path=path, busy=busy):
            return f"Sought for wave {_wave(wave)}: " + (" - ".join(path) or busy or "not here")
        case wire.Release(wave=wave):
            return f"Release wave {_wave(wave)}"
        case wire.Leave():
            return "Leave"
        case wire.Around(neighbours=neighbours):
            return f"Around me are {', '.join(name for name, _ in neighbours) or 'no others'}"
        case wire.Apart(lost=lost):
            return f"Apart: {lost} is lost"
        case wire.Lines(lines=lines):
            return "Lines " + "; ".join(_line(line) for line in lines)
        case wire.Digests(digests=digests):
            return "Digests of " + ("all lines" if digests else "no line at all")
        case wire.Steered(mode=mode, events=events):
            return f"Events ({mode.name.lower()}) " + ", ".join(map(_event, events))
        case _ if isinstance(message, wire.Moving):
            return _moving(message)
        case _:
            return _step(message)


def _line(line: wire.Line) -> str:
    if line.kind == "group":
        counts = msgspec.msgpack.decode(line.value) if line.value else [0, 0]
        return f"{line.name} has {counts[0]} members, {counts[1]} of them there"
    if line.kind == "home":
        home = msgspec.msgpack.decode(line.value)[0] if line.value else "nowhere"
        return f"{line.name} is at home {home if home == 'nowhere' else f'at {home}'}"
    return f"{line.kind} {line.name}: " + (f"{len(line.value)} bytes" if line.value else "gone")


def _step(message: wire.Message) -> str:
    """The steps of a swap."""
    match message:
        case wire.Lock(id=swap, middle=middle, goal=goal):
            return f"Lock: {swap[0]} moves its link from {middle} to {goal}"
        case wire.LockNack(reason=reason):
            return f"LockNack: {reason}"
        case wire.Side(mover=mover, entries=entries):
            wishes = "; ".join((f"{origin}: " if origin else "") + _patterns(each) for origin, each in entries)
            return f"Side of the {'mover' if mover else 'middle'}: {wishes}"
        case wire.Close(from_mover=from_mover):
            return "Close from the " + ("mover" if from_mover else "middle") + _torn(message)
        case _ if isinstance(message, get_args(wire.ChangeMessage)):
            return _change_message(message)
        case _:
            return type(message).__name__ + _torn(message)


def _torn(message: wire.Message) -> str:
    return " (torn)" if getattr(message, "torn", False) else ""


def _moving(message: wire.Message) -> str:
    match message:
        case wire.Draining(going=going):
            return "Draining: may our clients come?" if going else "Draining no more"
        case wire.Welcome(refused=refused, door=door):
            return f"Welcome refused: {refused}" if refused else f"Welcome, at {door or 'no door'}"
        case wire.Offer(client=client, move=move, patterns=patterns):
            return f"Offer {client} (move {move}), who wants {_patterns(patterns)}"
        case wire.Opened(client=client, move=move, refused=refused):
            return f"Opened {client} (move {move})" + (f" not: {refused}" if refused else "")
        case wire.Rest(client=client, move=move, state=state, last=last):
            what = f"{len(state)} bytes" if state else "from here on"
            return f"Rest of {client} (move {move}): {what}" + (", all" if last else "")
        case wire.Taken() | wire.Told() | wire.Withdraw():
            return f"{type(message).__name__} {message.client} (move {message.move})"
    raise ValueError(f"no words for {message}")


def _change_message(message: wire.Message) -> str:
    match message:
        case wire.Prepare(change=change):
            return f"Prepare {_change(change)}"
        case wire.Commit(change=change):
            return f"Commit {_change(change)}"
        case wire.Rec(change=change, add=add, delete=delete, digest=digest):
            short = ", a digest" if digest else ""
            return f"Rec of {change.id}: add {_patterns(add)}; delete {_patterns(delete)}{short}"
        case wire.Flush(change=change):
            return f"Flush of {change.id}"
        case wire.Prepared(id=id_, error=error):
            return f"Prepared for {id_}" + (f": {error}" if error else "")
        case wire.Held(id=id_, patterns=patterns):
            return f"Held for {id_}: {_patterns(patterns)}"
        case wire.Abort(id=id_) | wire.Ctrl(id=id_) | wire.AskHeld(id=id_) | wire.Done(id=id_):
            return f"{type(message).__name__} of {id_}"
    raise ValueError(f"nobody can tell {message}")


def _change(change: wire.Change) -> str:
    head, tail = change.path[: change.near + 1], change.path[change.near + 1 :]
    return f"{change.id} by {change.strategy}: {' - '.join(head)} = {' - '.join(tail)}"


# --- commands


def _network(words: list[str]) -> _Told:
    options = {word for word in words if word in ("covering", "acks", "settled", "aloud", "unique")}
    recovery = next((word[9:] for word in words if word.startswith("recovery=")), "none")
    lost_s = float(next((word[5:] for word in words if word.startswith("lost=")), 0))
    routing = next((word[8:] for word in words if word.startswith("routing=")), "subscription-forwarding")
    brokers = [word for word in words if word not in options and "=" not in word]
    edges = [tuple(word.split("-")) for word in brokers if "-" in word]
    cluster = _Told(
        edges,
        BrokerOptions(
            routing=routing,  # type: ignore[arg-type]
            covering="covering" in options,
            observe=True,
            founded=True,
            repair=RepairOptions(lost_s=lost_s),
            links=LinkOptions(retransmit_s=0.5 if recovery != "none" else 0.0, loose=recovery != "none"),
            recovery=RecoveryOptions(algorithm=recovery, heartbeats=1, digest_s_max=0.35),  # type: ignore[arg-type]
            homes=HomeOptions(unique="unique" in options),
        ),
        NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S, datagrams=recovery != "none"),
        "story",
    )
    for word in brokers:
        if "-" not in word:
            cluster.add_node(word)
    cluster.shown = options
    cluster.listening = "aloud" in options
    cluster.start_all()
    if not cluster.settle(SETUP_S_MAX):
        raise ValueError(f"the network does not come to rest: {cluster.restlessness()}")
    cluster.listening = True
    cluster.began_at = 0.0 if "aloud" in options else cluster.kernel.now
    return cluster


def _pattern(words: list[str]) -> Pattern:
    return Pattern.parse(words[0], " ".join(words[2:]) if words[1:2] == ["WHERE"] else "")


def _subscribe(cluster: _Told, broker: str, client: str, *pattern: str) -> None:
    cluster.attach(broker, client, [_pattern(list(pattern))])


def _order(cluster: _Told, broker: str, client: str, *words: str) -> None:
    *pattern, seconds = words
    cluster.order_of = lambda who: float(seconds) if who == client else 0.0
    _subscribe(cluster, broker, client, *pattern)


def _unsubscribe(cluster: _Told, broker: str, client: str, *pattern: str) -> None:
    cluster.unsubscribe(broker, client, _pattern(list(pattern)))


def _publish(cluster: _Told, broker: str, client: str, topic: str, *pairs: str) -> None:
    attributes = {name: int(value) for name, value in (pair.split("=") for pair in pairs)}
    cluster.publish(broker, client, Event(topic, b"", dict(attributes)))


def _join(cluster: _Told, broker: str, client: str, group: str, pattern: list[str]) -> None:
    cluster.attach(broker, client)
    cluster.join(broker, client, group, _pattern(pattern))


def _made(id_: str, strategy: str, head: str, tail: str) -> wire.Change:
    return make_change(id_, strategy, head.split(","), tail.split(","))


_DEEDS: dict[str, Callable[..., object]] = {
    "subscribe": _subscribe,
    "unsubscribe": _unsubscribe,
    "order": _order,
    "publish": _publish,
    "join": lambda cluster, broker, client, group, *pattern: _join(cluster, broker, client, group, list(pattern)),
    "part": lambda cluster, broker, client, group, *pattern: cluster.part(
        broker, client, group, _pattern(list(pattern))
    ),
    "detach": Cluster.detach,
    "link": Cluster.add_link,
    "unlink": Cluster.remove_link,
    "drain": Cluster.drain,
    "swap": Cluster.swap,
    "break": lambda cluster, one, other: cluster.network.break_connection(one, other),
    "cut": lambda cluster, one, other: cluster.network.cut(one, other),
    "lose": lambda cluster, one, other, count: cluster.losing.update({(one, other): int(count)}),
    "sever": lambda cluster, one, other: cluster.network.sever(one, other),
    "heal": lambda cluster: cluster.network.heal(),
    "vanish": lambda cluster, *words: cluster.vanish(_made(*words)),
    "appear": lambda cluster, *words: cluster.appear(_made(*words)),
    "substitute": lambda cluster, *words: cluster.substitute(_made(*words)),
    "replace": lambda cluster, strategy, head, tail: cluster.replace_link(strategy, head.split(","), tail.split(",")),
    "crash": Cluster.crash,
    "start": Cluster.start,
    "pause": Cluster.pause,
    "resume": Cluster.resume,
    "stall": lambda cluster, name: cluster.stalled.update({name: None}),
    "recover": lambda cluster, name: cluster.stalled.pop(name),
    "wait": lambda cluster, seconds: cluster.kernel.run(until=cluster.kernel.now + float(seconds)),
}


def _obey(cluster: _Told | None, command: str) -> _Told:
    words = shlex.split(command.replace("'", "\\'"))
    if words[0] == "network":
        return _network(words[1:])
    if cluster is None:
        raise ValueError("a story begins with a network")
    at_once = words[-1] == "&"
    _DEEDS[words[0]](cluster, *(words[1:-1] if at_once else words[1:]))
    if not at_once and words[0] != "wait":
        cluster.kernel.run(until=cluster.kernel.now + PACE_S)
    return cluster


def tell(story: str) -> str:
    """The story with the dialogue as it is; its own dialogue is not looked at."""
    return weave(story, _obey)
