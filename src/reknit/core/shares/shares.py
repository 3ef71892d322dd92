"""Members of groups: of all that share a subscription, one in the whole network gets each event.

For each event and each group there is one *token*: the right, and the duty, to hand the event to a member.

    at                  input                         what follows
    ------------------  ----------------------------  -----------------------------------------------------------
    the event's origin  it is published               for each group that matches, a broker is chosen from the book,
                                                      and its name stamped on the event: it has the token
    any broker          an event comes by             it travels by its patterns, as any does
    the chosen one      ... and there are members     one of them gets it, in turn; who has room before who is full,
                                                      who is connected before who is away
                        ... only some on their way    it waits for one of them: delivered if that one stays after
                        to another broker             all, else sent on
                        ... and there are none        it is *sent on*: as an event of this broker for that group
                                                      alone, to another one that has not been tried
                        ... and nobody else has any   it waits for a while until one is known of, here or elsewhere;
                                                      then it is dropped, and counted

A token is at one broker only, and what is sent on is settled before what it was made of (custody), so no member gets a
copy and none is lost on the way. A token is given to the same broker twice only if a member has moved there since, so
it comes to an end, and to any member that was there all the time. A broker that dies takes those of its members along;
what had not been settled comes to its next life, which has no members, and is sent on. One that has a store has its
members again, with all that they were given, and what it has sent on is kept like what its clients publish: so its next
life has nothing to do for tokens that had come to the one before.

A broker says that it has members behind saying what it wants (see ``broker``), so whoever knows of them has a route
there. When the last one has left, it says so at once, but goes on to want the events for a while: those that are on
their way to it must find it. A broker that is drained does not leave before that. An event that is published where a
group is not known yet is not for it.

Owns: the members here, and whose turn it is among them. Must not know: how an event is routed, or a client is reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from reknit.core.book.book import Book, Key
from reknit.core.io import DeliverShared, Join, Part, Presence
from reknit.core.links.custody import Custody
from reknit.core.links.former import Former
from reknit.core.routing.base import Routing
from reknit.core.routing.table import group_name
from reknit.core.shares.asides import Asides
from reknit.core.shares.lines import Count, Group, GroupLines
from reknit.core.shares.options import ShareOptions
from reknit.core.turn import Turn
from reknit.model.event import Event, Share, Sharing
from reknit.model.pattern import Pattern
from reknit.trace.records import NOBODY_LEFT, Kind
from reknit.wire.codec import SHARES_MAX

__all__ = ["Shares"]

_AWAY, _FULL, _READY = range(3)


class Shares:
    def __init__(self, turn: Turn, routing: Routing, book: Book, options: ShareOptions, former: Former) -> None:
        self.turn = turn
        self.routing = routing
        self.options = options
        self.lines = GroupLines(turn, book, self._count, former)
        self.asides = Asides(turn)
        self.errands: list[tuple[Event, Custody | None]] = []
        """Tokens that are to be sent on, with what is settled when they are; who takes them gives them numbers."""
        self.dropped = 0  # tokens for which there was no member any more
        self._members: dict[Group, dict[str, int]] = {}  # by group and client: its mood; the next stands first
        self._groups: dict[str, dict[Group, None]] = {}  # by client
        self._held: dict[str, list[tuple[Event, Group]]] = {}  # by client that is on its way: what waits for it
        self._lingering: dict[Group, float] = {}  # without members, and until when what they wanted is wanted
        self._heirs: dict[Group, dict[str, None]] = {}  # where members have moved, who were here when others were tried
        self._orphans: list[_Orphan] = []
        self._served: dict[str, int] = {}  # by source: the last event whose tokens a life before has seen to

    def __bool__(self) -> bool:
        return bool(self.lines)

    @property
    def at_rest(self) -> bool:
        """Nothing waits for a member."""
        return not self._orphans

    def _count(self, group: Group) -> Count:
        members = self._members.get(group, {})
        return Count(len(members), sum(mood > _AWAY for mood in members.values()))

    # --- members

    def join(self, each: Join) -> None:
        for name, pattern in each.shares:
            self.add(each.client, name, pattern, present=True)

    def add(self, client: str, name: str, pattern: Pattern, *, present: bool) -> None:
        group = Group(name, pattern)
        members = self._members.setdefault(group, {})
        if client not in members:
            self.turn.see(Kind.JOINED, client=client, pattern=pattern, detail=name)
            members[client] = _READY if present else _AWAY
            self._groups.setdefault(client, {})[group] = None
            self._lingering.pop(group, None)
            self.routing.subscribe(group_name(name), pattern)
            self.lines.tell(group)

    def recall(self, lines: Iterable[Key], seen: Mapping[str, int]) -> None:
        """What a life before knew of groups, and which events came by; the members are here again."""
        self.news(lines)
        self._served = dict(seen)

    def news(self, lines: Iterable[Key]) -> None:
        """These lines of the book have become others."""
        keys = list(lines)
        self.lines.news(keys)
        for group in self.lines.own_of(keys):
            if group not in self._members:  # a life before had some, and what is on its way to them must find us
                self._linger(group)

    def part(self, each: Part) -> None:
        for name, pattern in each.shares:
            self._leave(each.client, Group(name, pattern))

    def _leave(self, client: str, group: Group) -> None:
        members = self._members.get(group, {})
        if members.pop(client, None) is None:
            return
        self.turn.see(Kind.PARTED, client=client, pattern=group.pattern, detail=group.name)
        del self._groups[client][group]
        if not self._groups[client]:
            del self._groups[client]
        self.lines.tell(group)
        if not members:
            del self._members[group]
            self._linger(group)

    def _linger(self, group: Group) -> None:
        self._lingering[group] = self.turn.now + self.options.linger_s
        self.routing.subscribe(group_name(group.name), group.pattern)

    def presence(self, each: Presence) -> None:
        mood = _AWAY if not each.present else _READY if each.room else _FULL
        for group in self._groups.get(each.client, ()):
            self._members[group][each.client] = mood
            self.lines.tell(group)

    def of(self, client: str) -> list[tuple[str, Pattern]]:
        """What it shares, for a broker to which it moves."""
        return [(group.name, group.pattern) for group in self._groups.get(client, ())]

    def gone(self, client: str, heir: str = "") -> None:
        """It is no client of this broker any more; what waited for it is for others. ``heir``: where it has moved."""
        for group in list(self._groups.get(client, ())):
            if heir:
                self._heirs.setdefault(group, {})[heir] = None
            self._leave(client, group)
        for event, group in self._held.pop(client, ()):
            self._hand(event, group, None)

    # --- brokers that have no members any more

    def deadline(self) -> float | None:
        if not self._lingering and not self._orphans:
            return None
        return min((*self._lingering.values(), *(each.until for each in self._orphans[:1])))

    def due(self) -> None:
        for group, until in list(self._lingering.items()):
            if self.turn.now >= until:
                del self._lingering[group]
                self._heirs.pop(group, None)
                self.routing.unsubscribe(group_name(group.name), group.pattern)

    @property
    def done(self) -> bool:
        """Nothing for a group comes here any more."""
        return not self._members and not self._lingering and not self._orphans

    # --- clients on their way

    def hold(self, client: str) -> None:
        """Its session is on its way: it may stay, or be gone."""
        if client in self._groups:
            self._held.setdefault(client, [])

    def release(self, client: str) -> None:
        """It stays."""
        for event, group in self._held.pop(client, ()):
            self.give(event, group, client)

    def hold_again(self, client: str, event: Event, group: Group) -> None:
        """What a life before held for it, and what is kept."""
        self._held.setdefault(client, []).append((event, group))

    def _put_aside(self, client: str, event: Event, group: Group) -> None:
        self._held[client].append((event, group))
        self.asides.put(client, event, (group.pattern,), group.name)

    def waiting(self, client: str) -> int:
        return len(self._held.get(client, ()))

    # --- events

    def stamp(self, event: Event) -> None:
        """Decide who gets an event that was published here."""
        groups = self.lines.matching(event)
        if len(groups) > SHARES_MAX:
            self.dropped += len(groups) - SHARES_MAX
            self.turn.see(Kind.DROPPED, event=event, detail="more groups than an event may have")
        choices = [_share(group, self.lines.decide(group)) for group in groups[:SHARES_MAX]]
        if choices:
            event.sharing = Sharing(tuple(choices))

    def serve(self, event: Event, sharing: Sharing, custody: Custody) -> None:
        """Hand the event to a member of each group for which this broker was chosen."""
        if event.seq <= self._served.get(event.source, 0):
            return
        for share in sharing.choices:
            if share.broker == self.turn.node:
                self._hand(event, Group(share.group, Pattern(share.topic, share.selector)), custody)

    def _hand(self, event: Event, group: Group, custody: Custody | None) -> None:
        client = self._next(group)
        if not client:
            self._send_on(event, group, custody)
        elif client in self._held:
            self._put_aside(client, event, group)
        else:
            self.give(event, group, client)

    def _next(self, group: Group) -> str:
        """The member whose turn it is; it goes to the end of the queue."""
        members = self._members.get(group)
        if not members:
            return ""
        best, best_mood = "", -2
        for client, mood in members.items():
            mood = -1 if client in self._held else mood
            if mood > best_mood:
                best, best_mood = client, mood
            if mood == _READY:
                break
        members[best] = members.pop(best)
        return best

    def give(self, event: Event, group: Group, client: str) -> None:
        self.turn.see(Kind.SHARED, client=client, event=event, pattern=group.pattern, detail=group.name)
        self.turn.effects.append(DeliverShared(event, client, group.name, group.pattern))

    def _send_on(self, event: Event, group: Group, custody: Custody | None) -> None:
        sharing = event.sharing or Sharing()
        tried = self._tried(event, group)
        broker = self.lines.decide(group, tried)
        if not broker:
            self._wait(event, group, custody)
            return
        of = sharing.of if sharing.alone else event.id
        errand = Sharing((_share(group, broker),), tried, of)
        anew = msgspec.structs.replace(event, sharing=errand, source="", seq=0, number=None, marks=b"")
        self.errands.append((anew, custody))

    # --- events for which there is no member

    def _wait(self, event: Event, group: Group, custody: Custody | None) -> None:
        if len(self._orphans) >= self.options.orphans_max:
            self._drop(event, group)
            return
        if custody is not None:
            custody.pending += 1
        self._orphans.append(_Orphan(event, group, self.turn.now + self.options.orphan_s, custody))

    def _drop(self, event: Event, group: Group) -> None:
        self.dropped += 1
        self.turn.see(Kind.DROPPED, event=event, pattern=group.pattern, detail=NOBODY_LEFT)

    def end_of_turn(self) -> None:
        """Whatever can be handed on now is; what has waited for too long is dropped."""
        waited, self._orphans = self._orphans, []
        for each in waited:
            known = each.group in self._members or self.lines.knows(each.group, self._tried(each.event, each.group))
            if not known and self.turn.now < each.until:
                self._orphans.append(each)
                continue
            if each.custody is not None:
                self.turn.custodies.append(each.custody)  # takes over the hold that the queue had
            if known:
                self._hand(each.event, each.group, each.custody)
            else:
                self._drop(each.event, each.group)

    def _tried(self, event: Event, group: Group) -> tuple[str, ...]:
        """Brokers that had no member. One to which a member has moved from here has one: it may pass the event by."""
        heirs = self._heirs.get(group, {})
        tried = (event.sharing or Sharing()).tried
        return (*(broker for broker in tried if broker not in heirs), self.turn.node)


@dataclass(frozen=True, slots=True)
class _Orphan:
    event: Event
    group: Group
    until: float
    custody: Custody | None


def _share(group: Group, broker: str) -> Share:
    return Share(group.name, group.pattern.topic, group.pattern.selector, broker)
