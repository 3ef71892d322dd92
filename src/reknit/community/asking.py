"""Who is asked for members of a community, by a peer that looks for some, and by one that passes that on.

Whoever looks for its own community is on its own, and asks. For members above, some of a community ask, as many as pass
an event upward; the others will hear from those. Requests go from peer to peer, whatever those are members of, until
one is in a community that is named; or P-Grid knows. How far, and to how many, is said by the options of the topic.

Owns: requests, of this peer and of others. Must not know: what becomes of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from reknit.community.community import Community
from reknit.community.grid.grid import Grid
from reknit.community.options import PeerOptions
from reknit.community.search import Search
from reknit.community.seen import Seen
from reknit.community.turn import Turn
from reknit.community.view import View
from reknit.wire.peers import Answer, Request

__all__ = ["Asking"]

ANSWERED_MAX = 4096
"""Searches of others that are remembered, so that each is answered or passed on once."""

ANSWER_PEERS = 8


class Asking:
    """``communities`` and ``contacts`` are the peer's own, as they are at any time."""

    __slots__ = ("_answered", "_communities", "_contacts", "_grid", "_options", "_turn")

    def __init__(
        self,
        options: PeerOptions,
        turn: Turn,
        communities: Mapping[str, Community],
        contacts: View,
        grid: Grid | None,
    ) -> None:
        self._options = options
        self._turn = turn
        self._communities = communities
        self._contacts = contacts
        self._grid = grid
        self._answered: Seen[tuple[str, int]] = Seen(ANSWERED_MAX)

    # --- of others

    def take_request(self, sender: str, request: Request) -> None:
        """Answer it for the nearest community that this peer is in; or pass it on."""
        if request.origin == self._turn.me or not self._answered.is_first((request.origin, request.attempt)):
            return
        for topic in request.topics:
            if topic in self._communities:
                members = self._communities[topic].members(ANSWER_PEERS)
                self._turn.send(request.origin, Answer(request.attempt, topic, members))
                return
        if request.hops_left:
            onward = Request(request.origin, request.attempt, request.topics, request.hops_left - 1)
            for peer in self._some(request.topics[0], sender, request.origin):
                self._turn.send(peer, onward)
        self._contacts.add(request.origin)

    # --- of our own

    def ask(self, community: Community, search: Search) -> None:
        """It is time for an attempt."""
        grid = self._grid if community.membership.uses_grid else None
        if grid is None and search is not community.search and not self._is_elected(community):
            search.skip()
            return
        attempt, topics = search.attempt()
        if grid is not None:
            for topic in topics:
                grid.seek(attempt, topic, max(ANSWER_PEERS, community.options.z))
            return
        search.sent()
        for peer in self._some(community.topic):
            self._turn.send(peer, self._request(community, attempt, topics))

    def _is_elected(self, community: Community) -> bool:
        return self._turn.rng.random() < community.p_sel(community.membership.population())

    def probe(self, community: Community, attempt: int) -> None:
        """One of those who are known for other reasons than being in this community's view."""
        others = self._known(*community.membership.view)
        if others:
            self._turn.send(self._turn.rng.choice(others), self._request(community, attempt, (community.topic,)))

    def try_again(self, peer: str) -> None:
        """It may have been out of reach only, and so may all who have members on its side."""
        if self._grid is not None:
            self._grid.meet_next(peer)
        for topic, community in self._communities.items():
            if community.membership.searches:
                self._turn.send(peer, self._request(community, community.search.probe(), (topic,)))

    def _request(self, community: Community, attempt: int, topics: tuple[str, ...]) -> Request:
        return Request(self._turn.me, attempt, topics, community.options.supers.search_hops)

    # --- who there is

    def _some(self, topic: str, *others_than: str) -> list[str]:
        """Of all that are known, whatever for, as many as one asks for this topic."""
        peers = self._known(*others_than)
        fan = self._options.of(topic).supers.search_fan
        return peers if len(peers) <= fan else self._turn.rng.sample(peers, fan)

    def _known(self, *others_than: str) -> list[str]:
        known: dict[str, None] = dict.fromkeys(self._contacts)
        for community in self._communities.values():
            known.update(dict.fromkeys(community.membership.view))
            for table in community.supers:
                known.update(dict.fromkeys(table.entries))
        return [peer for peer in known if peer not in others_than]
