"""Placement by interest: whenever a client has changed what it wants, it is looked at whether it would be better off at
another broker of the cluster; if so, its session moves there (DYNATOPS, Algorithm 1).

The paper's user asks a broker where to be, with all its topics. Here the broker that has the client asks itself, when
what it wants has come to rest, and all of it is known to come. Topics that the client alone has brought here since it
was looked at last do not count for this broker; with ``own_topics`` earlier ones do, as in the paper, so that it stays
rather than goes. Nobody is moved for too small a gain, nor again too soon, nor twice for one change: so none goes back
and forth.

Owns: whom to look at, and when. Must not know: how a session moves, or what an event is.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from reknit.core.homes.homes import Home
from reknit.core.io import Attach
from reknit.core.placement.arriving import Arriving
from reknit.core.placement.interests import Interests
from reknit.core.placement.leaving import Leaving
from reknit.core.placement.options import PlacementOptions
from reknit.core.ring.station import Station
from reknit.core.routing.rendezvous import Rendezvous
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.sessions import Sessions
from reknit.core.turn import Turn, earliest
from reknit.trace.records import PLACED_BETTER, Kind
from reknit.wire.messages import Moving, Offer, Opened, PlacementMessage, Rest, Taken, Told, Withdraw
from reknit.wire.placement import Interest, Lasts, Passed

__all__ = ["LOOKS_MAX", "Looks", "Placement"]

RETRY_S = 0.5
"""How often a client is looked at again whose wishes have not settled yet, or that could not go for others."""

LOOKS_MAX = 64
"""Clients that are looked at in one turn; others in the next ones. Events have to get on meanwhile."""


class Looks:
    """Who is to be looked at, and when."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}  # by client
        self._queue: list[tuple[float, str]] = []  # those, and times that do not count any more

    def set(self, client: str, at: float) -> None:
        if self.at.get(client) != at:
            self.at[client] = at
            heapq.heappush(self._queue, (at, client))

    def cancel(self, client: str) -> None:
        self.at.pop(client, None)

    def first(self) -> float | None:
        while self._queue and self.at.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def take(self, now: float) -> list[str]:
        """Some of those whose time has come."""
        taken: list[str] = []
        while len(taken) < LOOKS_MAX and (at := self.first()) is not None and at <= now:
            client = heapq.heappop(self._queue)[1]
            del self.at[client]
            taken.append(client)
        return taken


class Placement:
    def __init__(
        self,
        turn: Turn,
        station: Station,
        routing: Rendezvous,
        sessions: Sessions,
        leaving: Leaving,
        arriving: Arriving,
        options: PlacementOptions,
        busy: Callable[[], bool],
    ) -> None:
        """``busy``: a change of places is under way here."""
        self.turn, self.station, self.routing, self.sessions = turn, station, routing, sessions
        self.leaving, self.arriving, self.options, self.busy = leaving, arriving, options, busy
        self.interests = Interests(turn, station, options, self._wanted)
        self._looks = Looks()  # at clients whose wishes have changed
        self._had: dict[str, frozenset[str]] = {}  # by client: its topics when it was looked at last
        self._stays_until: dict[str, float] = {}  # by client that has moved
        self._tied: dict[str, None] = {}  # clients that could not be told where to go
        sessions.arrivals, sessions.departures = arriving, leaving
        sessions.begins, sessions.single, sessions.wishes_of = self._begins, self._moving, self._changed
        station.saw, arriving.ours = arriving.see, sessions.claim
        arriving.came, leaving.is_coming = self._came, lambda client: client in arriving.of or arriving.merges(client)
        leaving.lasts, leaving.gone = arriving.lasts, self._gone
        leaving.ended_move = lambda client, why: self._look_again(client)

    def _wanted(self) -> tuple[list[str], int]:
        """Without what only those want who may go yet: of two alike each would go where the other was."""
        open_: Counter[str] = Counter()
        for client in self._looks.at:
            open_.update(each.topic for each in self.routing.table.of(client_hop(client)))
        wanted = self.routing.wanted
        return [topic for topic, count in wanted.items() if count > open_[topic]], sum(wanted.values())

    def _moving(self) -> bool:
        return self.leaving.busy or self.arriving.busy

    # --- words

    def receive(self, peer: str, message: Moving | PlacementMessage) -> None:
        self.sessions.busy = True
        if self.turn.observing and not isinstance(message, Interest | Passed):
            self.turn.see(Kind.CHANGE, peer=peer, detail=f"session: {type(message).__name__.lower()}")
        match message:
            case Interest():
                self.interests.receive(message)
            case Offer():
                self.arriving.on_offer(peer, message)
            case Lasts():
                self.arriving.on_lasts(peer, message)
            case Rest():
                self.arriving.on_rest(peer, message)
            case Passed():
                self.arriving.on_passed(peer, message)
            case Withdraw():
                self.arriving.on_withdraw(peer, message)
            case Told():
                if self.arriving.on_told(peer, message):
                    self.sessions.homes.moved_in(message.client, peer)
            case Opened():
                self.leaving.on_opened(peer, message)
            case Taken():
                self.leaving.on_taken(peer, message)

    def lost(self, peer: str) -> None:
        self.sessions.busy = True
        self.leaving.lost(peer)
        self.arriving.lost(peer)
        self.interests.lost(peer)

    def met(self, peer: str) -> None:
        self.arriving.met(peer)

    # --- clients

    def _begins(self, each: Attach) -> None:
        self.leaving.begins(each.client)
        if each.follows:
            self._tied.pop(each.client, None)
        elif self.options.update_s:
            self._tied[each.client] = None

    def _changed(self, client: str) -> None:
        if self.options.update_s and client not in self._tied:
            self._looks.set(client, self.turn.now + self.options.settle_s)

    def _came(self, client: str) -> None:
        """Where it is now somebody has decided; it is looked at when it wants something else."""
        self._looks.cancel(client)
        self._had[client] = self._topics(client)
        self._stays_until[client] = self.turn.now + self.options.stay_s

    def _gone(self, client: str, home: Home) -> None:
        self.arriving.gone(client)
        self.sessions.homes.moved_out(client, home)

    def _look_again(self, client: str) -> None:
        """It was to go, and has stayed; it may go another time."""
        if self.options.update_s and client in self.leaving.clients and client not in self._tied:
            again = self.turn.now + max(self.options.update_s, self.options.stay_s)
            self._looks.set(client, max(again, self._looks.at.get(client, 0.0)))

    def _topics(self, client: str) -> frozenset[str]:
        return frozenset(each.topic for each in self.routing.table.of(client_hop(client)))

    def _is_too_soon(self, client: str, topics: Collection[str]) -> bool:
        """Or others go first."""
        if self.busy() or self.arriving.merges(client) or self.turn.now < self._stays_until.get(client, 0.0):
            return True
        full = len(self.leaving.under_way()) >= self.leaving.options.moves_max
        return full or not all(self.leaving.is_sure_of(topic) for topic in topics)

    def _look(self, client: str, mine: tuple[int, int]) -> None:
        """``mine``: what is wanted here."""
        patterns = self.routing.table.of(client_hop(client))
        own = Counter(each.topic for each in patterns)
        topics = frozenset(own)
        if self._is_too_soon(client, topics):
            self._looks.set(client, max(self.turn.now + RETRY_S, self._stays_until.get(client, 0.0)))
            return
        had = self._had.get(client, frozenset()) if self.options.own_topics else frozenset()
        here = sum(topic in had or self.routing.wanted[topic] > own[topic] for topic in topics)
        self._had[client] = topics
        choice = self.interests.best_for(topics, here, len(patterns), mine) if topics else None
        if choice is not None and choice.gain > self.options.gain_min:
            there = choice.interest.of
            if not self.leaving.go(client, there):
                self.turn.see(Kind.CHANGE, client=client, peer=there[1], detail=PLACED_BETTER)
                self.interests.sent(there[1], topics, len(patterns))

    def send_all(self) -> str:
        """This broker is to leave: all sessions go to the next on the ring, some at a time. Why that cannot be."""
        heir, leaving = self.station.plane.member.chord.successor, self.leaving
        if heir[1] == self.turn.node:
            return f"{heir[1]} has no other broker that could take its clients: the last broker cannot be drained"
        self.sessions.busy = True
        if member := next((client for client in leaving.clients if leaving.shares.of(client)), None):
            return f"{member} is a member of a group, and on a ring such sessions do not move; let it leave first"
        for client in list(leaving.clients):
            if (peer := self.arriving.source(client)) and peer not in self.station.links.of:
                self.sessions.claim(client, peer)  # nobody is left who would say that it is ours
            if len(leaving.under_way()) < leaving.options.moves_max:
                leaving.go(client, heir)
        return ""

    # --- times

    def deadline(self) -> float | None:
        return earliest(self.interests.deadline(), self._looks.first())

    def due(self) -> None:
        self.interests.due()
        clients = self.leaving.clients
        if max(len(self._had), len(self._tied)) > 2 * len(clients) + 16:
            self._had = {client: topics for client, topics in self._had.items() if client in clients}
            self._stays_until = {client: at for client, at in self._stays_until.items() if client in clients}
            self._tied = {client: None for client in self._tied if client in clients}
        taken = self._looks.take(self.turn.now)
        mine = self.interests.mine() if taken else (0, 0)
        for client in taken:
            here = client in clients and client not in self._tied
            if here and not self.arriving.awaits(client) and not self.leaving.moves(client):
                self._look(client, mine)
                self.sessions.busy = True

    # --- looking in

    def unrest(self) -> str:
        """What is under way here, for people to read; empty if nothing is."""
        if self._moving():
            return "sessions are on their way"
        first = self._looks.first()
        return "clients are looked at" if first is not None and first < self._soon() else ""

    def _soon(self) -> float:
        return self.turn.now + self.options.settle_s + RETRY_S

    def shown(self) -> dict[str, Any]:
        """For operators."""
        told = {"cluster": self.interests.cluster, "others": self.interests.shown(), "dropped": self.interests.dropped}
        return {**told, "moved": self.leaving.moved, "gaps": self.arriving.gaps, "not_passed": self.leaving.not_passed}
