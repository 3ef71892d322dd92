"""One community, as one of its members sees it: its table, the tables of members above, and what it does with an event.

An event that comes for the first time is passed on once, and never again (infect and die): to ``ln N + c`` members by
chance; and with probability ``p_sel = g / N`` upward, to each of the known members of a parent with probability
``p_a``, so that on average ``g`` members send ``a`` messages each. Whatever the event's own topic is, the numbers are
those of this community. In a parent's table that is not full ``p_a`` is ``a`` by its entries rather than by ``z``,
for the same average.

That is the paper's way, in which it is left to chance whether anybody passes an event upward. Beside it one can vouch
for it (``vouch_tries``): who has brought the event here asks one after the other of those above, until one confirms;
that one brings it into the next community, and vouches in turn.

Owns: the decisions for one event in one community. Must not know: other communities of the same peer, or delivery.
"""

from __future__ import annotations

from math import floor, inf, log

from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.hierarchy import Hierarchy
from reknit.community.io import Send
from reknit.community.memberships.names import membership_of
from reknit.community.options import TopicOptions
from reknit.community.search import Search
from reknit.community.seen import Seen
from reknit.community.super_table import SuperTable
from reknit.community.turn import Turn
from reknit.model.event import Event, EventId
from reknit.trace.records import Kind
from reknit.wire.peers import HOPS_MAX, PEERS_MAX, Contact, Gossip, Remove, Word, encode_word

__all__ = ["Community"]


class Community:
    def __init__(
        self,
        topic: str,
        hierarchy: Hierarchy,
        options: TopicOptions,
        turn: Turn,
        courier: Courier,
        grid: Grid | None = None,
    ) -> None:
        self.topic = topic
        self.options = options
        self.turn = turn
        self.courier = courier
        self.above = hierarchy.ladder(topic)[1:]
        self.membership = membership_of(options.membership)(topic, options, turn, courier, grid)
        self.search = Search((topic,), options.supers, turn)
        self.supers = [
            SuperTable(topic, hierarchy.ladder(parent), options, turn) for parent in hierarchy.parents(topic)
        ]
        self.seen: Seen[EventId] = Seen(options.seen_max)
        self._vouched: Seen[EventId] = Seen(options.seen_max)
        self.joined_at = turn.now
        self._reunion_at = self._next_reunion()
        self._grid = grid if self.membership.draws_above and self.supers else None
        self._draw_at = self._next_draw()

    # --- coming and going

    def join(self, contacts: tuple[str, ...], supers: tuple[Contact, ...]) -> None:
        self.membership.join(contacts)
        for table in self.supers:
            table.merge(supers)
            table.start()
        self._look_for_members()

    def leave(self) -> None:
        self.membership.leave()

    def _look_for_members(self) -> None:
        if self.membership.searches and not len(self.membership.view):
            self.search.start()

    def _next_reunion(self) -> float:
        asks = self.membership.searches and not self.membership.uses_grid
        reunion_s = self.options.scamp.reunion_s if asks else 0.0
        return self.turn.now + self.turn.jitter(reunion_s) if reunion_s else inf

    def probe(self) -> int | None:
        """The number of an attempt to find members of another part, if it is time for one."""
        if self._reunion_at > self.turn.now:
            return None
        self._reunion_at = self._next_reunion()
        return self.search.probe() if len(self.membership.view) else None

    def _next_draw(self) -> float:
        return inf if self._grid is None else self.turn.now + self.turn.jitter(self._grid.options.refresh_s)

    def _draw_above(self) -> None:
        """Other tables of members above, where those come from P-Grid."""
        if self._grid is not None and self._draw_at <= self.turn.now:
            self._draw_at = self._next_draw()
            for table in self.supers:
                self._grid.seek(table.draw(), table.parent, self.options.z)

    def searches(self) -> list[Search]:
        return [self.search, *(table.search for table in self.supers)]

    def found(self, attempt: int, topic: str, peers: tuple[str, ...], sender: str = "") -> bool:
        """The answer to a search, and who has answered; whether one of ours had asked for it."""
        asked = False
        if self.search.asked(attempt, topic):
            asked = True
            self._found_members(attempt, peers)
        for table in self.supers:
            if table.take_drawn(attempt, topic, peers):
                asked = True
            elif table.search.asked(attempt, topic):
                asked = True
                table.lives(sender)
                table.merge((topic, peer) for peer in peers[: self.options.z])
        return asked

    def _found_members(self, attempt: int, peers: tuple[str, ...]) -> None:
        others = tuple(peer for peer in peers if peer != self.turn.me)
        if others and self.search.is_on():
            self.search.stop()
            if not len(self.membership.view):  # else by another way, and who subscribes twice is known twice
                self.membership.join(others)
        elif others and self.search.is_first_of_probe(attempt):
            self.membership.meet(others)

    def members(self, count: int) -> tuple[str, ...]:
        """Some members for who asks: oneself, and whom one knows."""
        return (self.turn.me, *self.membership.view.sample(self.turn.rng, min(count, PEERS_MAX) - 1))

    # --- words

    def receive(self, sender: str, word: Word) -> None:
        """A word about this community that is no event."""
        if isinstance(word, Remove):
            self.forget(sender)
        supers = self.membership.receive(sender, word)
        if supers:
            for table in self.supers:
                table.merge(supers)
        if len(self.membership.view):
            self.search.stop()

    def forget(self, peer: str) -> None:
        """It is no member of this community."""
        self.membership.drop(peer)

    def failed(self, to: str, word: Word) -> None:
        self.membership.failed(to, word)
        self._look_for_members()

    # --- events

    def disseminate(
        self, event: Event, hops: int, way: tuple[str, ...], forced: bool, also: tuple[Contact, ...]
    ) -> None:
        """``forced``: upward for certain. ``also``: parents that this peer is a member of itself need no message."""
        if hops >= HOPS_MAX:
            self.turn.count("hops_max")
            return
        population = max(1.0, self.membership.population())
        skipped = [topic for topic, _ in also]
        for table in self.supers:
            if table.parent not in skipped and (forced or self.turn.rng.random() < self.p_sel(population)):
                self._rise(table, event, hops, way)
        fan_out = max(0, floor(log(population) + self.options.c))
        targets = self.membership.view.sample(self.turn.rng, fan_out)
        if len(targets) < min(fan_out, floor(population) - 1):
            self.turn.count("short_views")
        if targets:
            self._send(targets, Gossip(self.topic, hops + 1, way, event))

    def p_sel(self, population: float) -> float:
        given = self.options.p_sel
        return min(1.0, self.options.g / population) if given is None else given

    def _rise(self, table: SuperTable, event: Event, hops: int, way: tuple[str, ...]) -> None:
        chance = self.options.a / max(1, min(self.options.z, len(table.entries)))
        chosen: dict[str, list[str]] = {}
        for address, topic in table.entries.items():
            if self.turn.rng.random() < chance:
                chosen.setdefault(topic, []).append(address)
        for topic, addresses in chosen.items():
            self._send(addresses, Gossip(topic, hops + 1, (*way, self.topic), event))

    def vouch(self, event: Event, hops: int, way: tuple[str, ...], also: tuple[Contact, ...]) -> None:
        """See to it that it rises, besides what chance does: somebody above has to confirm that it has come."""
        if not self.options.vouch_tries or hops >= HOPS_MAX or not self._vouched.is_first(event.id):
            return
        skipped = [topic for topic, _ in also]
        for table in self.supers:
            if table.parent not in skipped and table.entries:
                topic, peers = table.nearest()
                gossip = Gossip(topic, hops + 1, (*way, self.topic), event)
                self.courier.send_to_one(tuple(peers), gossip, self.options.vouch_tries)
                self.turn.saw(Kind.FORWARDED, event, peers[0], topic)

    def _send(self, targets: list[str], gossip: Gossip) -> None:
        frame = encode_word(gossip)
        for target in targets:
            self.turn.effects.append(Send(target, frame))
            self.turn.saw(Kind.FORWARDED, gossip.event, target, gossip.community)

    # --- time

    def deadline(self) -> float:
        return min(
            self.membership.deadline(),
            self.search.next_at,
            self._reunion_at,
            self._draw_at,
            min((table.deadline() for table in self.supers), default=inf),
        )

    def due(self, own: tuple[Contact, ...]) -> None:
        """``own``: the communities above that this peer is a member of itself, under its own address."""
        self.membership.due()
        if self.membership.beat():
            supers = [contact for table in self.supers for contact in table.contacts()]
            self.membership.tell(tuple((*own, *supers)[:PEERS_MAX]))
        p_sel = self.p_sel(max(1.0, self.membership.population()))
        for table in self.supers:
            table.due(p_sel)
        self._draw_above()
        self._look_for_members()
