"""Bugs to plant, one at a time: does the check see them?

Each entry breaks the protocol in one place, as a tired programmer might. None is shipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reknit.core import turn
from reknit.core.broker import Broker
from reknit.core.homes.homes import Homes
from reknit.core.io import Import
from reknit.core.links.custody import Custody
from reknit.core.links.link import Arrival, Link
from reknit.core.links.links import Links
from reknit.core.links.loose import LooseLink
from reknit.core.overlay.causal import Stamps
from reknit.core.overlay.events import Arrived
from reknit.core.overlay.notes import Part
from reknit.core.overlay.overlay import Overlay
from reknit.core.overlay.repair import Repair
from reknit.core.overlay.swapdeaths import SwapDeaths
from reknit.core.overlay.swaplink import SwapLinks
from reknit.core.overlay.swapstate import Swapping
from reknit.core.overlay.triangle import Triangle
from reknit.core.overlay.walk import Walk
from reknit.core.overlay.wave import Answer, Search
from reknit.core.recovery.cache import EventCache
from reknit.core.recovery.heritage import Heritage
from reknit.core.recovery.history import History
from reknit.core.recovery.lost import LostBuffer
from reknit.core.recovery.order import Order
from reknit.core.recovery.recovery import Recovery
from reknit.core.recovery.silence import Silence
from reknit.core.recovery.streams import Streams
from reknit.core.routing import announcements
from reknit.core.routing.announcements import Covering
from reknit.core.routing.gate import Gate
from reknit.core.routing.global_table import GlobalTable
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.routing.table import Route, Table
from reknit.core.sessions.arrivals import Arrivals
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.departures import Departures
from reknit.core.sessions.guard import Guard
from reknit.core.sessions.sessions import Sessions
from reknit.core.shares.asides import Asides
from reknit.core.shares.lines import Group
from reknit.core.shares.shares import Shares
from reknit.core.transit import Transit
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.model.topic import filter_covers
from reknit.sim.schedule import Focus
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Known, Mode, Opened, Rest, Silent, Sought, Steered, Sub, Unsub

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]
PLANTED: dict[str, Plant] = {}
ONLY: dict[str, str] = {}
"""By the name of a bug, the one checker that finds it: without it, nobody would."""


NEAR: dict[str, int] = {}
"""By the name of a bug that takes many schedules to be found: where to begin, so that the test is quick."""


def near(seed: int) -> Callable[[Plant], Plant]:
    def mark(function: Plant) -> Plant:
        NEAR[_name(function)] = seed - 1
        return function

    return mark


FOCUS: dict[str, Focus] = {}
"""By the name of a bug that shows only where links move all the time: in which schedules to look for it."""


def among(focus: Focus) -> Callable[[Plant], Plant]:
    def mark(function: Plant) -> Plant:
        FOCUS[_name(function)] = focus
        return function

    return mark


def plant(function: Plant) -> Plant:
    PLANTED[_name(function)] = function
    return function


def only(checker: str) -> Callable[[Plant], Plant]:
    def mark(function: Plant) -> Plant:
        ONLY[_name(function)] = checker
        return function

    return mark


def _name(function: Plant) -> str:
    return function.__name__.replace("_", "-")


# --- events


@plant
def skip_the_guard_against_copies(patch: Patch) -> None:
    def take(self: Transit, events: Any, arrived: Arrived) -> None:
        for event in events:
            self._dispatch(event, self.routing.route(event), arrived.peer, arrived.skip, arrived.custody)

    patch.setattr(Transit, "take", take)


@plant
def forward_to_the_sender(patch: Patch) -> None:
    original = Transit._dispatch
    patch.setattr(
        Transit,
        "_dispatch",
        lambda self, event, route, sender, skip, custody: original(self, event, route, "", (), custody),
    )


@plant
def reuse_ids_after_a_restart(patch: Patch) -> None:
    original = Broker.__init__

    def init(self: Broker, name: str, incarnation: int, *rest: Any, **named: Any) -> None:
        original(self, name, incarnation, *rest, **named)
        self.source = self.transit.source = name

    patch.setattr(Broker, "__init__", init)


@plant
def a_copy_for_each_subscription(patch: Patch) -> None:
    patch.setattr(turn, "_names", lambda matches: tuple(name for name, patterns in matches for _ in patterns))


@only("delivery")
@plant
def only_the_first_match_counts(patch: Patch) -> None:
    original = Table._combine
    patch.setattr(Table, "_combine", lambda self, patterns: original(self, list(patterns)[:1]))


@plant
def remember_routes_for_ever(patch: Patch) -> None:
    original = Table.add

    def add(self: Table, hop: Any, pattern: Any) -> bool:
        routes = dict(self._routes)
        added = original(self, hop, pattern)
        self._routes.update(routes)
        return added

    patch.setattr(Table, "add", add)


@plant
def flood_when_the_topic_is_short(patch: Patch) -> None:
    original = SubscriptionForwarding.__init__

    def init(self: SubscriptionForwarding, *args: Any) -> None:
        original(self, *args)
        self.route = lambda event: route(self, event)

    def route(self: SubscriptionForwarding, event: Any) -> Route:
        found = self.table.route(event)
        return Route(tuple(self._told), found.matches) if "/" not in event.topic else found

    patch.setattr(SubscriptionForwarding, "__init__", init)


# --- subscriptions


@only("tables")
@plant
def forget_an_unsubscription(patch: Patch) -> None:
    original = SubscriptionForwarding.receive

    def receive(self: SubscriptionForwarding, neighbour: str, message: Any) -> None:
        if not isinstance(message, Unsub):
            original(self, neighbour, message)

    patch.setattr(SubscriptionForwarding, "receive", receive)


@only("wishes")
@plant
def keep_what_a_client_has_given_up(patch: Patch) -> None:
    patch.setattr(Sessions, "unsubscribe", lambda self, each: None)


@plant
def count_the_subscriber_just_inserted(patch: Patch) -> None:
    """Figure 12 as printed: the tests come after the insertion."""

    def wanted(self: Table, hop: Any, pattern: Any) -> bool:
        hops = self._by_pattern.get(pattern, {})
        return len([each for each in hops if each != hop]) > 1

    patch.setattr(Table, "wanted_apart_from", wanted)


@near(11)
@plant
def do_not_tell_the_first_subscriber_of_the_second(patch: Patch) -> None:
    original = SubscriptionForwarding._spread

    def spread(self: SubscriptionForwarding, pattern: Any) -> None:
        if len(self.table._by_pattern.get(pattern, {})) != 2:
            original(self, pattern)

    patch.setattr(SubscriptionForwarding, "_spread", spread)


@near(83)
@plant
def a_snapshot_only_adds(patch: Patch) -> None:
    def replace(self: SubscriptionForwarding, neighbour: str, entries: Any) -> None:
        self.receive(neighbour, Sub([pattern for _, patterns in entries for pattern in patterns]))

    patch.setattr(SubscriptionForwarding, "replace", replace)


@near(25)
@plant
def cover_by_topic_alone(patch: Patch) -> None:
    patch.setattr(announcements, "covers", lambda one, other: filter_covers(one.topic, other.topic))


@plant
def leave_bare_what_was_covered(patch: Patch) -> None:
    original = Covering.want_no_more
    patch.setattr(Covering, "want_no_more", lambda self, pattern: ([], original(self, pattern)[1]))


@plant
def keep_knowledge_to_oneself(patch: Patch) -> None:
    original = GlobalTable._spread

    def spread(self: GlobalTable, news: Any, apart_from: str) -> None:
        if news.origin == self.turn.node:
            original(self, news, apart_from)

    patch.setattr(GlobalTable, "_spread", spread)


# --- links


@plant
def resume_without_sending_the_rest(patch: Patch) -> None:
    def resume(self: Link, hello: Any) -> None:
        self._up(hello)
        self._acknowledged(hello.received, self._peer_settled)
        self._sent = self._next_seq - 1

    patch.setattr(Link, "resume", resume)


@plant
@near(35)
def let_go_of_frames_once_received(patch: Patch) -> None:
    original = Link._acknowledged
    patch.setattr(Link, "_acknowledged", lambda self, received, settled: original(self, received, received))


@plant
def begin_a_session_with_an_empty_outbox(patch: Patch) -> None:
    original = Link.renew

    def renew(self: Link, hello: Any, session: int) -> None:
        self._outbox.clear()
        original(self, hello, session)

    patch.setattr(Link, "renew", renew)


@plant
def take_frames_as_they_come(patch: Patch) -> None:
    def take(self: Link, data: Any) -> Any:
        if data.session == self.session:
            self._want_ack()
            self.received = max(self.received, data.seq)
            custody = Custody(self, self.session, [])
            self._unsettled.append((data.seq, custody))
            yield Arrival(self.peer, data.messages, custody)

    patch.setattr(Link, "take_data", take)


@plant
def send_the_last_event_first(patch: Patch) -> None:
    original = Link.flush

    def flush(self: Link) -> None:
        if self._fresh_events:
            self._fresh_events.reverse()
        original(self)

    patch.setattr(Link, "flush", flush)


@only("order")
@plant
def let_own_events_go_first(patch: Patch) -> None:
    """What comes from elsewhere is sent behind the next turn's: FIFO from each source, but an answer overtakes."""
    late: dict[Link, list[tuple[Any, Custody]]] = {}
    came_in: dict[Link, Any] = {}  # the turn of the last of them, by its effects
    send_event, flush, end = Link.send_event, Link.flush, Link.end
    idle = Link.idle.fget  # type: ignore[attr-defined]

    def send(self: Link, event: Any, custody: Custody) -> bool:
        if event.source.rpartition(".")[0] == self.turn.node:
            return send_event(self, event, custody)
        custody.pending += 1
        late.setdefault(self, []).append((event, custody))
        came_in[self] = self.turn.effects
        return True

    def flush_late(self: Link) -> None:
        flush(self)
        if self in late and came_in[self] is not self.turn.effects:
            waiting = late.pop(self)
            for event, custody in waiting:
                send_event(self, event, custody)
            flush(self)
            self._discharge([custody for _, custody in waiting])

    def end_late(self: Link) -> None:
        end(self)
        self._discharge([custody for _, custody in late.pop(self, [])])

    patch.setattr(Link, "send_event", send)
    patch.setattr(Link, "flush", flush_late)
    patch.setattr(Link, "end", end_late)
    patch.setattr(Link, "idle", property(lambda self: idle(self) and self not in late))


@plant
def an_outbox_for_one_event(patch: Patch) -> None:
    original = Link.__init__

    def init(self: Link, turn: Any, peer: str, address: str, options: Any) -> None:
        original(self, turn, peer, address, msgspec.structs.replace(options, outbox_bytes_max=300))

    patch.setattr(Link, "__init__", init)


@only("liveness")
@plant
def never_acknowledge_what_is_settled(patch: Patch) -> None:
    patch.setattr(Link, "advance_settled", lambda self, session: None)


# --- the overlay


@near(220)  # where nobody else sees it
@only("tree")
@plant
def join_without_a_search(patch: Patch) -> None:
    def begin(self: Search, target: str, neighbours: Any, now: float) -> Answer:
        self._count += 1
        return Answer((self.me, self._count), [], "")

    patch.setattr(Search, "begin", begin)


@near(194)
@plant
def take_others_in_while_claiming_to_be_alone(patch: Patch) -> None:
    patch.setattr(Links, "asks_alone", property(lambda self: False))


@near(1531)  # where nobody else sees it
@only("tree")
@plant
def let_two_searches_pass(patch: Patch) -> None:
    """A broker that one join has locked lets another one through as well."""
    original = Search.on_seek

    def on_seek(self: Search, sender: str, seek: Any, neighbours: Any, now: float) -> None:
        if self._held is not None and seek.target not in neighbours and seek.target != self.me:
            self.send(sender, Sought(seek.wave, [], ""))
        else:
            original(self, sender, seek, neighbours, now)

    patch.setattr(Search, "on_seek", on_seek)


@plant
def never_release_a_lock(patch: Patch) -> None:
    patch.setattr(Search, "on_release", lambda self, sender, release: None)
    patch.setattr(Search, "deadline", lambda self: None)
    patch.setattr(Search, "due", lambda self, now: None)


@plant
def keep_the_routes_of_a_link_that_was_left(patch: Patch) -> None:
    patch.setattr(SubscriptionForwarding, "forget", lambda self, neighbour: self._told.pop(neighbour, None))


# --- a broker's beginning


@plant
def route_before_the_tables_are_known(patch: Patch) -> None:
    original = Transit.take

    def take(self: Transit, events: Any, arrived: Arrived) -> None:
        self.gate.open, shut = True, self.gate.open
        original(self, events, arrived)
        self.gate.open = shut

    patch.setattr(Transit, "take", take)


@plant
@near(9)
def speak_before_having_listened(patch: Patch) -> None:
    patch.setattr(Gate, "may_tell", lambda self, neighbour: True)


@only("bounds")
@plant
def reach_a_bound_and_go_on(patch: Patch) -> None:
    """It says that an event was dropped at the gate, and keeps it: the bound is none."""

    def hold(self: Transit, event: Any, arrived: Arrived | None, custody: Custody) -> None:
        if len(self._held) >= 2:
            self.turn.see(Kind.DROPPED, event=event, detail="waiting for neighbours' tables, and too many wait")
        custody.pending += 1
        self._held.append((event, arrived, custody))

    patch.setattr(Transit, "_hold", hold)


@plant
def drop_what_waited_at_the_gate(patch: Patch) -> None:
    patch.setattr(Transit, "release_held", lambda self: self._held.clear())


# --- a link is swapped


def _waits(patch: Patch, exempt: Callable[[Triangle, str, Any], bool]) -> None:
    original = Triangle._must_wait
    patch.setattr(
        Triangle, "_must_wait", lambda self, peer, item: not exempt(self, peer, item) and original(self, peer, item)
    )


@plant
def the_mover_takes_the_goals_events_before_the_old_way_is_closed(patch: Patch) -> None:
    _waits(patch, lambda self, peer, item: self.part is Part.MOVER and not self.flooding)


@plant
def the_goal_takes_the_movers_events_before_the_old_way_is_closed(patch: Patch) -> None:
    _waits(patch, lambda self, peer, item: self.part is Part.GOAL and not self.crossed)


@near(95)
@among("changes")
@plant
def relayed_events_do_not_wait_for_the_direct_ones(patch: Patch) -> None:
    _waits(patch, lambda self, peer, item: item.message.mode is Mode.VIA)


@only("order")
@plant
def effects_do_not_wait_for_their_causes(patch: Patch) -> None:
    patch.setattr(Stamps, "ready", lambda self, sender, stamp: True)


@near(118)
@among("crashes")
@plant
def a_flooded_event_goes_on_among_the_three(patch: Patch) -> None:
    patch.setattr(Triangle, "_is_for_outside", lambda self, peer, mode: False)


@plant
@near(4)
def the_mover_gives_its_events_to_the_goal_alone(patch: Patch) -> None:
    original = Triangle._targets

    def targets(self: Triangle, hop: str, sender: str) -> tuple[str, ...]:
        return (self.goal,) if self.part is Part.MOVER else original(self, hop, sender)

    patch.setattr(Triangle, "_targets", targets)


@plant
@near(6)
def the_goal_hears_of_the_ends_of_ways_in_any_order(patch: Patch) -> None:
    patch.setattr(SwapLinks, "_must_stall", lambda self, peer, message: False)


@plant
def the_goal_mistakes_the_movers_side_for_the_middles(patch: Patch) -> None:
    original = SwapLinks.take_sides
    patch.setattr(SwapLinks, "take_sides", lambda self, mover, middle: original(self, middle, mover))


@plant
def what_is_wanted_meanwhile_is_never_said(patch: Patch) -> None:
    patch.setattr(SubscriptionForwarding, "resume", lambda self, neighbour: self._paused.pop(neighbour, None))


@plant
def two_swaps_at_once(patch: Patch) -> None:
    patch.setattr(SwapLinks, "locked", property(lambda self: ""))


@near(11)
@plant
def a_replaced_link_is_cut_at_once(patch: Patch) -> None:
    def close(self: Overlay, peer: str) -> None:
        self.links.remove(peer, "replaced")
        self.swaps.closed(peer)

    patch.setattr(Overlay, "_close_when_empty", close)


@near(7)
@plant
def a_broker_forgets_its_part_in_a_swap(patch: Patch) -> None:
    patch.setattr(SwapLinks, "notes", lambda self: "")


@plant
@near(5)
def nobody_minds_a_crash_during_a_swap(patch: Patch) -> None:
    patch.setattr(SwapLinks, "_tear", lambda self, swap: None)


@near(17)
@plant
def a_step_does_not_last(patch: Patch) -> None:
    patch.setattr(Link, "lasting", (Events, Steered))


@near(1140)
@among("crashes")
@plant
def a_new_life_does_not_wait_for_a_link_that_is_closing(patch: Patch) -> None:
    patch.setattr(SwapLinks, "keepers", lambda self: ())


# --- groups


@among("groups")
@only("shares")
@plant
def every_broker_serves_the_group(patch: Patch) -> None:
    def serve(self: Shares, event: Any, sharing: Any, custody: Custody) -> None:
        for share in sharing.choices:
            group = Group(share.group, Pattern(share.topic, share.selector))
            if group in self._members or share.broker == self.turn.node:
                self._hand(event, group, custody)

    patch.setattr(Shares, "serve", serve)


@near(41)
@among("groups")
@only("shares")
@plant
def forget_what_came_for_a_member_that_has_left(patch: Patch) -> None:
    patch.setattr(Shares, "_send_on", lambda *_: None)


@near(51)
@among("groups")
@only("shares")
@plant
def want_no_more_what_the_group_wanted_at_once(patch: Patch) -> None:
    original = Shares._leave

    def leave(self: Shares, client: str, group: Group) -> None:
        original(self, client, group)
        if group in self._lingering:
            self._lingering[group] = self.turn.now
            self.due()

    patch.setattr(Shares, "_leave", leave)


@near(616)
@among("groups")
@plant
def send_on_before_what_has_waited_for_the_gate(patch: Patch) -> None:
    patch.setattr(Transit, "_releasing", property(lambda self: False, lambda self, value: None), raising=False)


@near(170)
@among("groups")
@only("shares")
@plant
def forget_what_members_of_a_life_before_were_to_get(patch: Patch) -> None:
    patch.setattr(Shares, "news", lambda self, lines: self.lines.news(lines))


@among("groups")
@only("shares")
@plant
@near(7)
def hand_out_again_what_a_life_before_has_handed_out(patch: Patch) -> None:
    original = Shares.recall

    def recall(self: Shares, lines: Any, seen: Any) -> None:
        original(self, lines, {})

    patch.setattr(Shares, "recall", recall)


# --- homes


@among("homes")
@only("homes")
@plant
def keep_a_session_whose_client_has_begun_anew_elsewhere(patch: Patch) -> None:
    patch.setattr(Sessions, "_end_those_elsewhere", lambda self: self.homes.over.clear())


@among("homes")
@plant
def let_each_broker_take_its_own_word_for_the_last(patch: Patch) -> None:
    original = Homes._read

    def read(self: Homes, client: str, value: bytes) -> None:
        if client in self.clients:
            self.over.pop(client, None)
        else:
            original(self, client, value)

    patch.setattr(Homes, "_read", read)


# --- sessions that move


@only("sessions")
@plant
def serve_a_session_that_has_not_arrived(patch: Patch) -> None:
    """At once, without holding."""
    patch.setattr(Arrivals, "sift", lambda self, event, sender, match: True)


@near(46)
@only("sessions")
@plant
def deliver_what_was_held_before_the_rest(patch: Patch) -> None:
    original = Arrivals._arrive

    def arrive(self: Arrivals, client: str, arrival: Any) -> None:
        original(self, client, arrival)
        effects = self.turn.effects
        effects.append(effects.pop(next(at for at, each in enumerate(effects) if isinstance(each, Import))))

    patch.setattr(Arrivals, "_arrive", arrive)


@plant
def forget_to_say_that_a_session_is_open(patch: Patch) -> None:
    original = Arrivals._open

    def open_(self: Arrivals, client: str, arrival: Any) -> None:
        send, self.send = self.send, lambda peer, message: None
        original(self, client, arrival)
        self.send = send

    patch.setattr(Arrivals, "_open", open_)


@near(66)
@plant
def mark_no_place_among_the_events_to_the_new_broker(patch: Patch) -> None:
    """The state marks it instead, and that takes time."""
    original = Departures.on_opened

    def on_opened(self: Departures, peer: str, opened: Opened) -> None:
        send = self.send
        self.send = lambda peer, message: None if isinstance(message, Rest) else send(peer, message)
        original(self, peer, opened)
        self.send = send

    patch.setattr(Departures, "on_opened", on_opened)


@near(46)
@plant
def serve_on_where_a_session_has_been(patch: Patch) -> None:
    patch.setattr(Departures, "sift", lambda self, event, match: True)


@only("delivery")
@plant
def swallow_what_is_published_while_a_broker_is_drained(patch: Patch) -> None:
    original = Overlay.forward

    def forward(self: Overlay, event: Any, hop: str, sender: str, custody: Custody) -> None:
        if not self.closed or sender:
            original(self, event, hop, sender, custody)

    patch.setattr(Overlay, "forward", forward)


# --- swaps that go on without one of the three


@only("liveness")
@near(236)
@among("crashes")
@plant
def ask_nobody_how_a_swap_has_ended(patch: Patch) -> None:
    """The word that ends it has died with whoever said it."""

    def ask_on(self: SwapDeaths, swap: Swapping) -> None:
        swap.give_up_at = self.turn.now + self.options.lease_s

    patch.setattr(SwapDeaths, "_ask_on", ask_on)


@only("whole")
@near(85)
@among("crashes")
@plant
def ask_nobody_for_a_link_after_a_swap_was_ended_without_us(patch: Patch) -> None:
    patch.setattr(SwapDeaths, "to_be_asked", lambda self, peer: {})


# --- what is lost for good


@only("whole")
@near(988)
@plant
def tell_nobody_of_the_neighbours(patch: Patch) -> None:
    patch.setattr(Repair, "_tell_around", lambda self, tree: None)


@near(182)
@plant
def take_back_whom_one_has_given_up(patch: Patch) -> None:
    """The lost one is back, and still holds us for its neighbour."""

    def give_up(self: Links, peer: str, reason: str) -> None:
        self.remove(peer, reason)
        del self.former._left[peer]

    patch.setattr(Links, "give_up", give_up)


@near(1137)
@plant
def take_a_link_that_was_to_be_for_a_join(patch: Patch) -> None:
    """A link that was made for a change that came to nothing is still there when its other end asks to be joined."""
    original = Links._caller_greets

    def greets(self: Links, conn: int, connection: Any, hello: Any) -> Any:
        if hello.wave is not None and hello.wave[1] and hello.name in self.of and self.of[hello.name].tentative:
            hello = msgspec.structs.replace(hello, wave=None)
        yield from original(self, conn, connection, hello)

    patch.setattr(Links, "_caller_greets", greets)


@near(824)
@plant
def drop_what_was_deferred_though_it_is_wanted_again(patch: Patch) -> None:
    """A second change brings back a link before the first has made up for its removal."""
    patch.setattr(Walk, "_following", lambda self: "")


# --- brokers with stores


@among("stores")
@plant
def keep_nothing_of_what_clients_have_published(patch: Patch) -> None:
    patch.setattr(Transit, "keep", lambda self, custody: None)


@among("stores")
@plant
def forget_what_the_life_before_has_seen(patch: Patch) -> None:
    original = Sessions.recall
    patch.setattr(Sessions, "recall", lambda self, each: original(self, msgspec.structs.replace(each, seen={})))


@near(158)
@among("stores")
@plant
def count_what_waits_for_the_gate_as_seen(patch: Patch) -> None:
    original = Transit.recall

    def recall(self: Transit, kept: Any) -> None:
        for event, _ in kept:
            self._remember(event)
        original(self, kept)

    patch.setattr(Transit, "recall", recall)


@near(63)
@among("stores")
@only("delivery")
@plant
def keep_nothing_of_what_was_put_aside(patch: Patch) -> None:
    patch.setattr(Asides, "put", lambda *_: None)


@near(22)
@among("stores")
@only("sessions")
@plant
def take_nothing_back_that_a_life_before_gave_away(patch: Patch) -> None:
    patch.setattr(Departures, "met", lambda self, peer: None)


@near(22)
@among("stores")
@only("sessions")
@plant
def forget_what_has_come_to_a_life_before(patch: Patch) -> None:
    patch.setattr(Arrivals, "recall", lambda self, moves: None)


@near(795)
@among("stores")
@plant
def do_not_ask_what_a_session_has_had(patch: Patch) -> None:
    patch.setattr(Copies, "expect", lambda self, client, *before: None)


@near(1083)
@among("groups")
@only("shares")
@plant
def wait_for_the_word_of_a_broker_that_has_lost_its_memory(patch: Patch) -> None:
    def claim_from(self: Sessions, peer: str) -> None:
        self._returned.pop(peer, None)
        for client in self.arrivals.here_from(peer):
            self.homes.moved_in(client, peer)

    patch.setattr(Sessions, "_claim_from", claim_from)


@near(159)
@among("stores")
@plant
def settle_a_copy_before_the_first_one(patch: Patch) -> None:
    patch.setattr(Transit, "_entrust", lambda self, event, sender, custody: None)


@near(200107)
@among("crashes")
@only("delivery")
@plant
def settle_a_copy_where_there_are_no_stores(patch: Patch) -> None:
    kept = Transit._entrust

    def entrust(self: Transit, event: Event, sender: str, custody: Custody) -> None:
        if self.turn.keeping:
            kept(self, event, sender, custody)

    patch.setattr(Transit, "_entrust", entrust)


# --- links that lose events, and their recovery


@among("loss")
@plant
def deliver_again_what_has_come_back(patch: Patch) -> None:
    patch.setattr(History, "add", lambda self, source, seq: True)


@among("loss")
@plant
def forget_what_has_come_in_line(patch: Patch) -> None:
    patch.setattr(History, "add_run", lambda self, source, first, last: True)


@among("loss")
@plant
def take_every_copy_for_an_event(patch: Patch) -> None:
    patch.setattr(Transit, "_is_copy", lambda self, event: False)


@among("loss")
@plant
def say_nothing_of_the_last_event_of_a_burst(patch: Patch) -> None:
    patch.setattr(Silence, "due", lambda self, now: self.end()[:0])


ONLY["say-nothing-of-the-last-event-of-a-burst"] = "recovery"


@among("loss")
@plant
def miss_all_of_a_gap_but_the_last(patch: Patch) -> None:
    original = Streams._gap
    patch.setattr(Streams, "_gap", lambda self, top, last: original(self, top, last - 1) if last > top + 1 else None)


@among("loss")
@plant
def suspect_nothing_at_first_contact(patch: Patch) -> None:
    patch.setattr(Streams, "_first", lambda self, last, hearsay=False: None)


@among("loss")
@plant
def ask_only_those_whom_the_algorithm_names(patch: Patch) -> None:
    patch.setattr(Recovery, "_ask_everybody", lambda self: None)


@among("loss")
@plant
def give_out_what_is_older_than_the_wish(patch: Patch) -> None:
    original = EventCache.find
    patch.setattr(
        EventCache, "find", lambda self, source, sign, numbers, after: original(self, source, sign, numbers, -1e9)
    )
    patch.setattr(Recovery, "admits", lambda self, client, patterns, event, born: True)


@among("loss")
@plant
def forget_all_of_a_pattern_when_one_of_it_comes(patch: Patch) -> None:
    original = LostBuffer.remove

    def remove(self: LostBuffer, triple: Any) -> Any:
        for number in list(self._numbers.get(triple[1], {}).get(triple[0], {})):
            if number != triple[2]:
                original(self, (triple[0], triple[1], number))
        return original(self, triple)

    patch.setattr(LostBuffer, "remove", remove)


@among("loss")
@plant
def send_what_has_come_back_on_along_the_tree(patch: Patch) -> None:
    def deliver(self: Transit, recovery: Recovery, event: Any, born: float) -> None:
        self._dispatch(event, self.routing.route(event), "", (), Custody(None, 0, []))

    patch.setattr(Transit, "deliver_recovered", deliver)


@near(91)
@among("loss")
@plant
def let_what_has_come_back_pass_what_is_still_missing(patch: Patch) -> None:
    original = Order._waits

    def waits(self: Order, event: Any, match: Any, custody: Any) -> bool:
        return custody is not None and original(self, event, match, custody)

    patch.setattr(Order, "_waits", waits)


@among("loss")
@plant
def let_all_go_when_anything_has_come(patch: Patch) -> None:
    original = Order._release

    def release(self: Order, client: str, source: str, line: Any) -> None:
        for each in line.waiting:
            each.numbers = []
        original(self, client, source, line)

    patch.setattr(Order, "_release", release)


@among("loss")
@plant
def send_once_what_a_group_shares(patch: Patch) -> None:
    original = LooseLink.send_event

    def send(self: LooseLink, event: Any, custody: Custody) -> bool:
        sharing, event.sharing = event.sharing, None
        sent = original(self, event, custody)
        event.sharing = sharing
        return sent

    patch.setattr(LooseLink, "send_event", send)


@among("loss")
@plant
def forget_heartbeats_that_a_neighbour_has_forgotten(patch: Patch) -> None:
    patch.setattr(Link, "lasting", tuple(kind for kind in Link.lasting if kind is not Silent))
    patch.setattr(Silence, "_say_later", lambda self, signature, count, now: None)


# --- memories of another tree


@near(1002718)
@among("crashes")
@plant
def believe_the_last_who_tells_of_an_origin_alone(patch: Patch) -> None:
    original = GlobalTable.receive

    def receive(self: GlobalTable, neighbour: str, message: Any) -> None:
        if isinstance(message, Known) and not self._knows_better(message.origin):
            for other in [each for each in self._said.get(message.origin, {}) if each != neighbour]:
                self._turn(message.origin, other, neighbour)
        original(self, neighbour, message)

    patch.setattr(GlobalTable, "receive", receive)


# --- what goes with a session where events are lost


@near(24)
@among("loss")
@plant
def tell_nobody_what_a_session_lacks(patch: Patch) -> None:
    patch.setattr(Heritage, "of", lambda self, client, aside=(): ([], []))


@among("loss")
@plant
def take_all_that_is_kept_for_what_a_session_lacks(patch: Patch) -> None:
    patch.setattr(Guard, "has_had", lambda self, event, client: False if client in self._runs else None)


@near(32)
@among("loss")
@plant
def take_wishes_of_a_life_before_for_new_ones(patch: Patch) -> None:
    patch.setattr(Heritage, "recall", lambda self, client, pattern, since: None)
