"""All links of one broker, and the connections that carry them.

A connection opens with a greeting from each end, the dialling end first. What the accepting end answers:

- it holds the caller for its neighbour, or the caller holds it for one and it has no memory of its own (it was
  restarted): a greeting; the session is resumed if both know it, else renewed;
- the caller asks to be joined: that is for the overlay to decide (``Stranger``);
- anything else: a refusal.

Owns: which connection belongs to which link. Must not know: why a link exists.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reknit.core.io import Close, Dial, Send
from reknit.core.links.events import Adopted, Answered, LinkEvent, Renewed, Stranger, TurnedAway
from reknit.core.links.former import Former
from reknit.core.links.greeting import objection
from reknit.core.links.link import Link
from reknit.core.links.loose import make_link
from reknit.core.links.options import LinkOptions
from reknit.core.turn import Turn, earliest
from reknit.trace.records import Kind
from reknit.wire.codec import VERSION, BadFrame, decode, encode
from reknit.wire.messages import Ack, Data, Farewell, Frame, Hello, Loose, Refuse, Wave

__all__ = ["Adopted", "Answered", "LinkEvent", "Links", "Renewed", "Stranger", "TurnedAway"]


@dataclass(slots=True)
class _Connection:
    peer: str  # "" until the caller has said who it is
    dialled: bool
    wave: Wave | None  # we ask to be joined
    since: float
    names: tuple[str, ...] | None = None  # as whom it may come, if that is proved
    asks: Hello | None = None  # what we ask with, until there is an answer
    asked_at: float = 0.0
    fault: str = ""  # how the other end has broken the rules


class Links:
    def __init__(
        self,
        turn: Turn,
        address: str,
        incarnation: int,
        dialect: str,
        options: LinkOptions,
        rng: random.Random,
        new: bool = False,
    ) -> None:
        """``address``: where other brokers can dial this one; ``dialect``: how it routes; ``new``: never linked yet."""
        self.turn = turn
        self.address, self.incarnation, self.dialect = address, incarnation, dialect
        self.options = options
        self.rng = rng
        self.make: Callable[[Turn, str, str, LinkOptions], Link] = make_link
        self.of: dict[str, Link] = {}  # by neighbour
        self.hidden: Callable[[], tuple[str, ...]] = tuple  # whose links belong to no tree, not yet or not any more
        self.binds: Callable[[str], bool] = lambda _: False  # is a swap with it under way, of which the link is a part?
        self.changed = False  # neighbours have come or gone in this turn
        self.malformed = 0
        self._connections: dict[int, _Connection] = {}
        self.former = Former(turn.node)
        self._asking: dict[str, Wave] = {}  # joins under way: whom, and for which wave
        self._knocking: dict[str, None] = {}  # who is dialled only to hear why it refuses
        # Who may hold us for a neighbour: nobody (None), at most this one, which was asked, or we cannot know ("").
        self.held_by: str | None = None if new else ""

    # --- what the overlay asks for

    def add(self, peer: str, address: str, quiet: bool = False, tentative: bool = False) -> Link:
        """Make ``peer`` a neighbour; if there is an address, dial it until it answers.

        ``quiet``: a link that belongs to no tree, not yet or not any more; the next life has it too. ``tentative``: it
        becomes one later (``activate``), and is not worth remembering before.
        """
        link = self.of[peer] = self.make(self.turn, peer, address, self.options)
        self.held_by = ""
        self.former.meets(peer) if tentative else self.former.is_linked(peer)
        link.tentative = tentative
        link.dial_later()
        if not tentative:
            self.changed = True
        if not tentative and not quiet:
            self.turn.tell(Kind.LINK_ADDED, peer=peer)
        return link

    def activate(self, peer: str) -> None:
        """The link belongs to the tree from now on."""
        self.of[peer].tentative = False
        self.former.is_linked(peer)
        self.changed = True
        self.turn.tell(Kind.LINK_ADDED, peer=peer)

    def leave(self, peer: str) -> None:
        """``peer`` is to be forgotten by the next life of this broker; in this one, what is under way goes through."""
        self.of[peer].leaving = True
        self.changed = True

    def remembered(self) -> dict[str, str]:
        """The neighbours that a next life should begin with."""
        return {name: link.address for name, link in self.of.items() if not link.leaving and not link.tentative}

    def remove(self, peer: str, reason: str) -> None:
        link = self.of.pop(peer)
        self.changed = True
        link.end()
        if link.conn is not None:
            self._close(link.conn, reason)
        self.former.leave(peer)

    def give_up(self, peer: str, reason: str) -> None:
        """Remove a neighbour that cannot be told: should it come back, it has to ask to be joined."""
        self.remove(peer, reason)
        self.former.give_up(peer, self.turn.now)

    def ask(self, peer: str, address: str, wave: Wave) -> None:
        """Dial a broker that is no neighbour yet, to be joined with it."""
        self._asking[peer] = wave
        self.held_by = peer if self.held_by in (None, peer) else ""
        self.turn.effects.append(Dial(peer, address))

    def knock(self, peer: str, address: str) -> None:
        """Call one that is no neighbour, to hear why it refuses: it may know of others that have left for good."""
        for conn in [conn for conn, each in self._connections.items() if each.peer == peer and peer not in self.of]:
            self._close(conn, "no answer")
        self._knocking[peer] = None
        self.turn.effects.append(Dial(peer, address))

    @property
    def asks_alone(self) -> bool:
        """We have told somebody that we are alone, and must stay so until it has answered."""
        return bool(self.held_by) and bool(self._asking)

    def stop_asking(self, peer: str) -> None:
        self._asking.pop(peer, None)
        for conn, connection in list(self._connections.items()):
            if connection.peer == peer and connection.wave is not None:
                self._close(conn, "join given up")

    def is_dialling(self, peer: str) -> bool:
        """It is to be asked, but nobody has picked up."""
        return peer in self._asking and all(each.peer != peer for each in self._connections.values())

    def accept(self, conn: int, hello: Hello) -> None:
        """The overlay agrees to join the caller: it is a neighbour already (``add``)."""
        if conn in self._connections:
            self._connections[conn].wave = None
            self._greet_caller(conn, self.of[hello.name], hello)

    def complete(self, answered: Answered, address: str) -> None:
        """The broker that we asked agrees: make it a neighbour on this connection."""
        self._asking.pop(answered.peer, None)
        link = self.of.get(answered.peer) or self.add(answered.peer, address)
        if answered.conn in self._connections:
            self._connections[answered.conn].wave = self._connections[answered.conn].asks = None
            link.bind(answered.conn)
            self._learn_address(link, answered.hello)
            link.renew(answered.hello, answered.hello.session)

    def is_open(self, conn: int) -> bool:
        return conn in self._connections

    def refuse(self, conn: int, refusal: Refuse) -> None:
        connection = self._connections.get(conn)
        if connection is not None:
            self._send(conn, refusal)
            self._fail(conn, connection, refusal.reason)

    # --- connections

    def accepted(self, conn: int, names: tuple[str, ...] | None = None) -> None:
        self._connections[conn] = _Connection("", False, None, self.turn.now, names)

    def dialled(self, peer: str, conn: int) -> None:
        wave = self._asking.get(peer)
        link = self.of.get(peer)
        if link is not None and link.conn is None:
            self._connections[conn] = _Connection(peer, True, None, self.turn.now)
            link.bind(conn)
            self._send(conn, self._greeting(link))
        elif link is None and wave is not None:
            asks = self._hello(peer, 0, 0, False, wave, alone=self.held_by == peer)
            self._connections[conn] = _Connection(peer, True, wave, self.turn.now, None, asks, self.turn.now)
            self._send(conn, asks)
        elif link is None and peer in self._knocking:
            self._connections[conn] = _Connection(peer, True, None, self.turn.now)
            del self._knocking[peer]
            self._send(conn, self._hello(peer, 0, 0, False, None))
        else:
            self.turn.effects.append(Close(conn, "not needed any more"))

    def dial_failed(self, peer: str, reason: str) -> Iterator[LinkEvent]:
        link = self.of.get(peer)
        self._knocking.pop(peer, None)
        if link is not None and link.conn is None:
            link.lost(reason)
        elif link is None and self._asking.pop(peer, None) is not None:
            refusal = Refuse(f"{peer} cannot be reached: {reason}", retry=True, stranger=False)
            yield TurnedAway(peer, refusal, reached=False)

    def lost(self, conn: int, reason: str) -> Iterator[LinkEvent]:
        connection = self._connections.pop(conn, None)
        if connection is None:
            return
        link = self.of.get(connection.peer)
        if link is not None and link.conn == conn:
            link.lost(reason)
        else:
            yield from self._unanswered(connection, f"{connection.peer} hung up: {reason}")

    def _unanswered(self, connection: _Connection, why: str) -> Iterator[LinkEvent]:
        """Whoever was asked for a link was there, and gives no answer."""
        if connection.wave is not None and self._asking.pop(connection.peer, None) is not None:
            yield TurnedAway(connection.peer, Refuse(why, retry=True, stranger=False))

    def received(self, conn: int, data: bytes) -> Iterator[LinkEvent]:
        connection = self._connections.get(conn)
        if connection is None:
            return
        try:
            frame = decode(data)
        except BadFrame as error:
            self.malformed += 1
            self._fail(conn, connection, f"malformed frame: {error}")
            return
        link = self.of.get(connection.peer) if connection.wave is None else None
        if link is not None and link.conn == conn and link.greeted:
            link.heard()
            yield from self._from_neighbour(conn, link, frame)
        else:
            yield from self._from_caller(conn, connection, frame)

    def _from_neighbour(self, conn: int, link: Link, frame: Frame) -> Iterator[LinkEvent]:
        match frame:
            case Data() | Loose():
                yield from link.take_data(frame)
            case Ack():
                link.take_ack(frame)
            case Hello():
                # On datagrams a greeting may come twice; the caller repeats its own until it has heard ours.
                if frame == link.hello and not self._connections[conn].dialled:
                    self._send(conn, self._greeting(link))
            case Refuse():
                yield from self._turned_away(conn, link.peer, frame)
            case Farewell():
                self._connections.pop(conn, None)
                self.turn.effects.append(Close(conn, frame.reason))
                link.lost(f"closed by {link.peer}: {frame.reason}")

    def _from_caller(self, conn: int, connection: _Connection, frame: Frame) -> Iterator[LinkEvent]:
        """The first frame of a connection: it must say who is there."""
        match frame:
            case Hello() if why := objection(frame, self.dialect, self.options, connection.names):
                self.refuse(conn, Refuse(why, False, False))
            case Hello() if connection.dialled:
                yield from self._called_answers(conn, connection, frame)
            case Hello() if connection.peer == "":
                yield from self._caller_greets(conn, connection, frame)
            case Refuse():
                yield from self._turned_away(conn, connection.peer, frame)
            case Data() | Ack() | Loose() if self.options.datagrams:
                pass  # it has overtaken the greeting, and will be sent again
            case Hello() if connection.wave is None and self.options.datagrams:
                pass  # a repeated request to join, already before the overlay
            case _:
                self._fail(conn, connection, f"a {type(frame).__name__} before a greeting")
        if conn not in self._connections:
            yield from self._unanswered(connection, f"{connection.peer} gives no answer: {connection.fault}")

    def _called_answers(self, conn: int, connection: _Connection, hello: Hello) -> Iterator[LinkEvent]:
        if hello.name != connection.peer:
            self._fail(conn, connection, f"{connection.peer} was dialled, {hello.name} answers")
        elif connection.wave is not None:
            yield Answered(connection.peer, conn, hello)
        elif (link := self.of.get(connection.peer)) is None or link.conn != conn:
            # It was to say why it is no neighbour; a link that has come about since then has its own connections.
            self._fail(conn, connection, f"{hello.name} greets on a connection that carries no link")
        else:
            self._learn_address(link, hello)
            if link.session == hello.session and link.peer_incarnation == hello.incarnation:
                link.resume(hello)
            else:
                reborn = link.peer_incarnation not in (0, hello.incarnation)
                link.renew(hello, hello.session)
                yield Renewed(link.peer, reborn)

    def _caller_greets(self, conn: int, connection: _Connection, hello: Hello) -> Iterator[LinkEvent]:
        connection.peer = hello.name
        if hello.wave is not None and hello.name in self.of and self.of[hello.name].tentative:
            # It has given up the link that was to be, and asks anew: for that one, or for a join, which needs a search.
            yield TurnedAway(hello.name, Refuse("it asks anew", retry=True, stranger=True))
        link = self.of.get(hello.name)
        if hello.name == self.turn.node:
            self.refuse(conn, Refuse(f"{hello.name} is this broker's own name", False, False))
        elif link is not None and link.leaving and hello.wave is not None:
            # It has left already, and forgotten; whoever wants to be joined anew comes again when we have left, too.
            self.refuse(conn, Refuse(f"{self.turn.node} is still leaving {hello.name}", retry=True, stranger=False))
            yield TurnedAway(hello.name, Refuse("it has left already", retry=True, stranger=True))
        elif link is not None and hello.wave is not None and hello.wave[0] != self.turn.node and self.binds(hello.name):
            # It is out of the swap, and asks for a link anew, which needs a search. It comes again.
            self.refuse(conn, Refuse(f"{self.turn.node} thought of a swap with {hello.name}", True, stranger=False))
            yield TurnedAway(hello.name, Refuse("it asks to be joined", retry=False, stranger=True))
        elif link is not None:
            reborn = link.peer_incarnation not in (0, hello.incarnation)
            if self._greet_caller(conn, link, hello):
                yield Renewed(hello.name, reborn)
        elif len(self.of) >= self.options.neighbours_max:
            self.refuse(conn, Refuse(f"{self.turn.node} has {len(self.of)} neighbours, and takes no more", True, False))
        elif hello.wave is not None:
            yield Stranger(conn, hello)
        elif (refusal := self.former.refusal(hello)) is not None:
            self.refuse(conn, refusal)
        else:
            self._greet_caller(conn, self.add(hello.name, ""), hello)
            yield Adopted(hello.name)

    def _greet_caller(self, conn: int, link: Link, hello: Hello) -> bool:
        """Answer a neighbour that has dialled us. True if a new session begins."""
        if link.conn is not None and not link.greeted and self.turn.node > link.peer:
            self.refuse(conn, Refuse("both ends have dialled; this one goes on", retry=True, stranger=False))
            return False
        if link.conn is not None:
            self._connections.pop(link.conn, None)
        link.bind(conn)
        self._learn_address(link, hello)
        known = link.session != 0 and link.session == hello.session and link.peer_incarnation == hello.incarnation
        if known:
            self._send(conn, self._greeting(link))
            link.resume(hello)
            return False
        session = self.rng.getrandbits(48) | 1
        self._send(conn, self._hello(link.peer, session, 0, self._is_in_tree(link), None))
        link.renew(hello, session)
        return True

    def _learn_address(self, link: Link, hello: Hello) -> None:
        """Either end must be able to mend the link, in this life and in the next."""
        if hello.address and hello.address != link.address:
            link.address = hello.address
            self.changed = True

    def _turned_away(self, conn: int, peer: str, refusal: Refuse) -> Iterator[LinkEvent]:
        self._connections.pop(conn, None)
        self._asking.pop(peer, None)
        self.turn.effects.append(Close(conn, refusal.reason))
        link = self.of.get(peer)
        if link is not None and link.conn == conn:
            link.lost(f"refused by {peer}: {refusal.reason}")
        yield TurnedAway(peer, refusal)

    # --- times

    def deadline(self) -> float | None:
        times = [link.deadline() for link in self.of.values()]
        if self._connections:
            times += [each.since + self.options.greeting_s_max for each in self._connections.values() if not each.peer]
        if self._asking and self.options.datagrams:
            times += [self._asks_again_at(each) for each in self._connections.values() if each.asks is not None]
        return earliest(*times)

    def due(self) -> None:
        for link in list(self.of.values()):
            conn = link.conn
            link.due()
            if conn is not None and link.conn is None:
                self._connections.pop(conn, None)
            elif conn is not None and self._connections[conn].dialled and link.greeting_again():
                self._send(conn, self._greeting(link))
            elif link.dial_at is not None and link.conn is None and self.turn.now >= link.dial_at:
                link.dial_at = self.turn.now + self.options.dial_answer_s_max
                self.turn.effects.append(Dial(link.peer, link.address))
        self._close_silent()
        if self._asking and self.options.datagrams:
            self._ask_again()

    def _ask_again(self) -> None:
        """On datagrams: our question, or its answer, may be lost."""
        for conn, each in self._connections.items():
            if each.asks is not None and self.turn.now >= self._asks_again_at(each):
                each.asked_at = self.turn.now
                self._send(conn, each.asks)

    def _asks_again_at(self, connection: _Connection) -> float:
        return connection.asked_at + self.options.retransmit_s

    def _close_silent(self) -> None:
        """Callers that have not said who they are."""
        for conn, connection in list(self._connections.items()):
            # The very sum that ``deadline`` gave: another one may round differently, and the alarm would ring for ever.
            if not connection.peer and self.turn.now >= connection.since + self.options.greeting_s_max:
                self._close(conn, "no greeting")

    def flush(self) -> None:
        for link in self.of.values():
            link.flush()

    def _greeting(self, link: Link) -> Hello:
        return self._hello(link.peer, link.session, link.received, self._is_in_tree(link), None)

    def _is_in_tree(self, link: Link) -> bool:
        """Only such a link may be adopted by an end without memory: any other one could close a cycle."""
        return not link.leaving and not link.tentative and link.peer not in self.hidden()

    def _hello(
        self, peer: str, session: int, received: int, linked: bool, wave: Wave | None, alone: bool = False
    ) -> Hello:
        who = (VERSION, self.dialect, self.turn.node, self.address, self.incarnation)
        return Hello(*who, session, received, linked, wave, alone, self.options.is_loose(peer))

    def _send(self, conn: int, frame: Frame) -> None:
        self.turn.effects.append(Send(conn, encode(frame)))

    def _close(self, conn: int, reason: str) -> None:
        self._connections.pop(conn, None)
        self.turn.effects.append(Close(conn, reason))

    def _fail(self, conn: int, connection: _Connection, reason: str) -> None:
        """The other end broke the rules: drop the connection, keep the link."""
        link, connection.fault = self.of.get(connection.peer), reason
        self._close(conn, reason)
        if link is not None and link.conn == conn:
            link.lost(reason)
