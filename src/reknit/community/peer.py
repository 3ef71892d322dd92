"""A peer: the door ``handle(input, now) -> effects``, and ``deadline()``.

A peer is a member of some communities and knows nothing of others. Whatever comes for a community that it is not in
is answered with a word that it is no member, and not looked at; an event there would be a parasite. What is no word
at all, or an answer that nobody asked for, is counted and forgotten. No table grows beyond its bound, whatever comes.

Owns: the communities of one peer, which part sees an input, delivery. Must not know: the shell, how a membership
works, or who is asked for members.
"""

from __future__ import annotations

import random
from collections import deque
from math import inf

from reknit.community.absent import Absent
from reknit.community.asking import Asking
from reknit.community.community import Community
from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.hierarchy import Hierarchy, came_rightly, filter_of
from reknit.community.io import Deliver, Due, Effect, Input, Join, Leave, Meet, Observe, Publish, Received
from reknit.community.memberships.names import membership_of
from reknit.community.options import PeerOptions, check_options
from reknit.community.seen import Seen
from reknit.community.super_table import SuperTable
from reknit.community.turn import Turn
from reknit.community.view import View
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record
from reknit.wire.codec import BadFrame
from reknit.wire.peers import (
    Ack,
    Answer,
    Contact,
    Copies,
    Exchange,
    Exchanged,
    Forward,
    Found,
    Gossip,
    Heartbeat,
    Kept,
    More,
    Ping,
    Pong,
    Remove,
    Replace,
    Request,
    Seek,
    Some,
    Subscribe,
    Sure,
    Withdraw,
    Word,
    check_community,
    decode_word,
)

__all__ = ["Peer", "TooMany"]

DELIVERED_MAX = 20_000
"""Ids of events that were delivered, to deliver each once, however many communities it comes through."""


class TooMany(ValueError):
    """A bound of this peer's own is reached: communities, or events that wait."""


class _Subscription:
    __slots__ = ("deliver", "pattern")

    def __init__(self, topic: str, selector: str, deliver: bool) -> None:
        self.pattern = Pattern.parse(filter_of(topic), selector)
        self.deliver = deliver

    def wants(self, event: Event) -> bool:
        """By the selector; that the event belongs here the community has seen to, by more than its topic's name."""
        if not self.deliver:
            return False
        return not self.pattern.selector or Pattern("#", self.pattern.selector).matches(event)


def _need_grid(options: PeerOptions) -> bool:
    names = (options.topic.membership, *(each.membership for each in options.topics.values()))
    return any(membership_of(name).uses_grid for name in names)


class Peer:
    """``life``: larger in each life of one address, so that no id is ever used twice."""

    def __init__(self, me: str, options: PeerOptions, rng: random.Random, life: int = 1, now: float = 0.0) -> None:
        check_options(options)
        self.me = me
        self.options = options
        self.source = f"{me}.{life}"
        self.turn = Turn(me, rng, options.observe, life)
        self.turn.now = now
        self.hierarchy = Hierarchy(options.parents)
        self.communities: dict[str, Community] = {}
        self.contacts = View(me, options.contacts_max)
        self.absent = Absent(options, self.turn)
        self.courier = Courier(self.turn, options.courier)
        self.grid = Grid(options.grid, self.turn, self.courier) if _need_grid(options) else None
        self.asking = Asking(options, self.turn, self.communities, self.contacts, self.grid)
        self._subscriptions: dict[str, _Subscription] = {}
        self._delivered: Seen[EventId] = Seen(DELIVERED_MAX)
        self._pending: deque[tuple[float, Event]] = deque()
        self._seq = 0
        self._deadline = inf
        if options.observe:
            self.turn.effects.append(Observe(Record(now, me, Kind.STARTED, detail=self.source)))

    @property
    def counters(self) -> dict[str, int]:
        return self.turn.counters

    def is_waiting(self, seq: int) -> bool:
        """Whether the event of ours with this number is not under way yet."""
        return any(event.id == (self.source, seq) for _, event in self._pending)

    @property
    def published(self) -> int:
        """How many events of ours there were, which is the number of the last."""
        return self._seq

    def deadline(self) -> float | None:
        return self._deadline if self._deadline < inf else None

    def handle(self, given: Input, now: float) -> list[Effect]:
        turn = self.turn
        turn.now = now
        match given:
            case Received(sender=sender, frame=frame):
                if self._receive(sender, frame):
                    self._settle()
            case Due():
                self._due()
            case Publish(event=event):
                self._publish(event)
            case Join():
                self._join(given)
            case Leave(topic=topic):
                self._leave(topic)
            case Meet(contacts=contacts):
                for contact in contacts:
                    self.contacts.add(contact)
                self.absent.given(contacts)
                if self.grid is not None:
                    self.grid.meet(contacts)
        if not isinstance(given, Received):
            self._settle()
        effects, turn.effects = turn.effects, []
        return effects

    def _settle(self) -> None:
        """What may have changed when something else than an event has come."""
        if self.grid is not None and self.grid.answers:
            self._take_found()
        ends = [community.deadline() for community in self.communities.values()]
        waiting = min((until for until, _ in self._pending), default=inf)
        if self.grid is not None:
            ends.append(self.grid.deadline())
        self._deadline = min([self.courier.deadline(), waiting, self.absent.next_at, *ends])

    # --- what its user wants

    def _join(self, given: Join) -> None:
        """Raise ``BadPattern`` or ``TooMany`` where this cannot be. Who is a member already gets another selector."""
        check_community(given.topic)
        subscription = _Subscription(given.topic, given.selector, given.deliver)
        community = self.communities.get(given.topic)
        if community is not None:
            self._subscriptions[given.topic] = subscription
            self._saw_joined(given)
            community.join(given.contacts, given.supers)
            return
        if len(self.communities) >= self.options.communities_max:
            raise TooMany(f"a peer is in {self.options.communities_max} communities at most")
        self._subscriptions[given.topic] = subscription
        self._enter(given)

    def _enter(self, given: Join) -> None:
        topic = given.topic
        community = Community(topic, self.hierarchy, self.options.of(topic), self.turn, self.courier, self.grid)
        self.communities[topic] = community
        self._saw_joined(given)
        community.join(given.contacts, given.supers)

    def _saw_joined(self, given: Join) -> None:
        self.turn.saw_table(Kind.SUBSCRIBED, given.topic, detail="" if given.deliver else "to publish only")

    def _leave(self, topic: str) -> None:
        community = self.communities.get(topic)
        if community is not None:
            self._publish_waiting(community)
            del self.communities[topic], self._subscriptions[topic]
            community.leave()
            self.turn.saw_table(Kind.UNSUBSCRIBED, topic)

    def _publish_waiting(self, community: Community) -> None:
        """What was to wait for members of this community cannot any longer: it goes to those who are known, and up."""
        waiting = [event for _, event in self._pending if event.topic == community.topic]
        self._pending = deque(each for each in self._pending if each[1].topic != community.topic)
        for event in waiting:
            self.turn.count("hurried")
            self._publish_now(community, event)

    def _publish(self, event: Event) -> None:
        check_community(event.topic)
        if event.topic not in self.communities:
            self._join(Join(event.topic, deliver=False))
        if len(self._pending) >= self.options.pending_max:
            raise TooMany(f"{self.options.pending_max} events wait until {event.topic!r} is joined")
        if not event.source:  # one that has an id comes from elsewhere, and may come here by several ways
            self._seq += 1
            event.source, event.seq = self.source, self._seq
        until = (
            self.communities[event.topic].joined_at + self.options.pending_s_max
        )  # then it is alone, for all it knows
        self._pending.append((until, event))
        self._publish_ready()

    def _publish_ready(self) -> None:
        """In order, within each community; none waits for another."""
        if not self._pending:
            return
        pending, self._pending = self._pending, deque()
        for until, event in pending:
            community = self.communities.get(event.topic)
            if community is not None and not len(community.membership.view) and until > self.turn.now:
                self._pending.append((until, event))
            elif community is not None:
                self._publish_now(community, event)

    def _publish_now(self, community: Community, event: Event) -> None:
        if event.id not in community.seen:
            self.turn.saw(Kind.PUBLISHED, event)
            self._take(community, event, 0, (), community.options.publisher_forces_upward, vouched=True)

    # --- events

    def _take(
        self, community: Community, event: Event, hops: int, way: tuple[str, ...], forced: bool, vouched: bool
    ) -> None:
        """For the first time in this community: deliver, pass on, and rise to those above that this peer is in.

        ``vouched``: it was brought here by who is to see that it rises, and did so.
        """
        community.seen.is_first(event.id)
        subscription = self._subscriptions[community.topic]
        if subscription.wants(event) and self._delivered.is_first(event.id):
            self.turn.effects.append(Deliver(community.topic, event, hops))
            self.turn.saw(Kind.DELIVERED, event, detail=community.topic)
        own = self._own(community)
        community.disseminate(event, hops, way, forced, own)
        if vouched:
            community.vouch(event, hops, way, own)
        for topic, _ in own:
            above = self.communities[topic]
            if event.id not in above.seen and topic not in way:
                self._take(above, event, hops, (*way, community.topic), forced=False, vouched=vouched)

    def _own(self, community: Community) -> tuple[Contact, ...]:
        """The communities above that this peer is a member of itself."""
        return tuple((topic, self.me) for topic in community.above if topic in self.communities)

    def _take_gossip(self, sender: str, gossip: Gossip, vouched: bool = False) -> None:
        event = gossip.event
        community = self.communities.get(gossip.community)
        if community is None:
            self.turn.count("strays")
            self.turn.saw(Kind.DROPPED, event, sender, f"no member of {gossip.community}")
            self.turn.send(sender, Remove(gossip.community))
        elif event.id in community.seen:
            self.turn.count("copies")
            if vouched and came_rightly(gossip.community, gossip.way, event.topic):
                community.vouch(event, gossip.hops, gossip.way, self._own(community))
        elif not came_rightly(gossip.community, gossip.way, event.topic):
            self.turn.count("misled")
            self.turn.saw(Kind.DROPPED, event, sender, f"no way to {gossip.community}")
        else:
            self._take(community, event, gossip.hops, gossip.way, forced=False, vouched=vouched)

    def _take_vouched(self, sender: str, sure: Sure, gossip: Gossip) -> None:
        """Who is no member confirms nothing, so that somebody else is asked."""
        if gossip.community not in self.communities:
            self._take_gossip(sender, gossip)
        elif self.courier.take(sender, sure):
            self._take_gossip(sender, gossip, vouched=True)

    # --- words

    def _receive(self, sender: str, frame: bytes) -> bool:
        """Whether it was something else than an event, so that deadlines may have changed."""
        try:
            word = decode_word(frame)
            if isinstance(word, Gossip):
                self._take_gossip(sender, word)
                return False
            self.absent.heard(sender)
            if isinstance(word, Ack):  # which ends a wait and begins nothing: an alarm that comes early does no harm
                self.courier.confirmed(sender, word)
                return False
            if isinstance(word, Sure):
                inner = decode_word(word.frame)
                if isinstance(inner, Gossip):
                    self._take_vouched(sender, word, inner)
                elif self.courier.take(sender, word):
                    self._dispatch(sender, inner)
            else:
                self._dispatch(sender, word)
        except BadFrame:
            self.turn.count("bad_frames")
            return False
        return True

    def _dispatch(self, sender: str, word: Word) -> None:
        match word:
            case Request():
                self.asking.take_request(sender, word)
            case Answer(attempt=attempt, topic=topic, peers=peers):
                self._count_unasked([each.found(attempt, topic, peers, sender) for each in self.communities.values()])
            case Ping(number=number, topic=topic):
                self.turn.send(sender, Pong(number, topic, topic in self.communities))
            case Pong():
                self._count_unasked([table.take_pong(sender, word) for table in self._tables()])
            case Some():
                self._count_unasked([table.take_some(sender, word) for table in self._tables()])
            case More(number=number, topic=topic, count=count):
                self._answer_more(sender, number, topic, count)
            case Subscribe() | Forward() | Kept() | Replace() | Remove() | Heartbeat():
                self._take_membership(sender, word)
            case Exchange() | Exchanged() | Seek() | Found() | Copies() | Withdraw() if self.grid is not None:
                self.grid.receive(sender, word)
            case _:
                self.turn.count("unexpected")
        self._publish_ready()

    def _take_membership(self, sender: str, word: Subscribe | Forward | Kept | Replace | Remove | Heartbeat) -> None:
        community = self.communities.get(word.topic)
        self._remember(sender)
        if isinstance(word, Remove):
            for table in self._tables():
                if table.entries.get(sender) == word.topic:
                    table.fail(sender)
        if community is not None:
            community.receive(sender, word)
        elif not isinstance(word, Remove):
            self.turn.count("strays")
            self.turn.send(sender, Remove(word.topic))

    def _remember(self, peer: str) -> None:
        """Whoever has spoken may be asked later on, when nobody else is left, or only a few who know nobody else."""
        if self.contacts.is_full() and peer not in self.contacts:
            self.contacts.drop(self.contacts.sample(self.turn.rng, 1)[0])
        self.contacts.add(peer)

    def _take_found(self) -> None:
        """Answers of P-Grid's: to registrations, or to searches, as if somebody had been asked."""
        assert self.grid is not None
        while self.grid.answers:
            found = self.grid.answers.pop(0)
            for community in self.communities.values():
                if not community.membership.found(found) and found.peers:
                    community.found(found.number, found.topic, found.peers)
        self._publish_ready()

    def _count_unasked(self, asked: list[bool]) -> None:
        """By any of those who might have."""
        if not any(asked):
            self.turn.count("unasked")

    def _tables(self) -> list[SuperTable]:
        return [table for community in self.communities.values() for table in community.supers]

    def _answer_more(self, sender: str, number: int, topic: str, count: int) -> None:
        community = self.communities.get(topic)
        if community is None:
            self.turn.send(sender, Remove(topic))
        else:
            self.turn.send(sender, Some(number, topic, community.members(count + 1)))

    # --- time

    def _due(self) -> None:
        now = self.turn.now
        for failure in self.courier.due():
            if isinstance(failure.word, Gossip):  # asked too seldom to be taken for dead
                self.turn.count("unvouched")
                continue
            self.contacts.drop(failure.to)
            self.absent.lost(failure.to)
            community = self.communities.get(getattr(failure.word, "topic", ""))
            if community is not None and not isinstance(failure.word, Seek | Copies | Withdraw):
                community.failed(failure.to, failure.word)
            if self.grid is not None:
                self.grid.failed(failure.to, failure.word)
        if self.grid is not None:
            self.grid.due()
        for community in self.communities.values():
            if community.deadline() <= now:
                community.due(self._own(community))
            for search in community.searches():
                if search.next_at <= now:
                    self.asking.ask(community, search)
            if (attempt := community.probe()) is not None:
                self.asking.probe(community, attempt)
        if (peer := self.absent.due()) is not None:
            self.asking.try_again(peer)
        self._publish_ready()
