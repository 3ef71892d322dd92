"""Homes: a client has one session in the whole network, at the broker that is its *home*.

A line of the book says for each client which broker that is. Sessions do not follow their clients: whoever comes to
another broker is served by his home all the same, through that one (the shell sees to that), so that order, and that
nothing is lost or doubled, is what it is at one broker. This module decides who is the home, and ends what is not.

    at                     input                             what follows
    ---------------------  --------------------------------  ---------------------------------------------------------
    where a client comes   no home is known                  a session begins here; a line: *home here*
                           the home is another broker        nothing: the shell asks that one
                           ... which stays out of reach      a session begins here; a line: *home here*
    where a session moves  its old broker has let it go      a line: *home here*, unless there is a newer one elsewhere
    where the session is   *home* elsewhere                  it ends: its client has begun anew there
                           it ends                           a line: gone
                           it moves on                       it is known where, until that one's line has come
                           ... gone, elsewhere               a line: *home here*, unless it has come from there, and
                                                             may still be taken back
    that a line names      and there is no such session      a line: gone (it was restarted)
                           ... with another address          a line: *home here* (the same, with its store)

Of two lines the later counts, everywhere, so of two sessions of one client that began at once, or while nobody could
reach the other, one is left as soon as both have been heard of. A broker that was restarted and has its sessions again
says so with the oldest of all words: whoever has begun anew meanwhile has said something newer. But where a session
has taken another one's place, here or by moving in, an older word of that one may still be about: there the next life
says what this one has said, with a store.

Owns: those lines. Must not know: how a client is served through another broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from reknit.core.book.book import Book, Key
from reknit.core.homes.options import HomeOptions
from reknit.core.turn import Turn

__all__ = ["HOME", "Home", "Homes"]

HOME = "home"


class Home(msgspec.Struct, frozen=True, array_like=True):
    broker: str
    address: str = ""
    """Where other brokers bring its clients; empty where nobody can dial it."""


_decoder: msgspec.msgpack.Decoder[Home] = msgspec.msgpack.Decoder(Home)


class Homes:
    def __init__(self, turn: Turn, book: Book, clients: dict[str, None], address: str, options: HomeOptions) -> None:
        """``clients``: those of this broker; others bring them to ``address``."""
        self.turn = turn
        self.book = book
        self.clients = clients
        self.options = options
        self.over: dict[str, None] = {}
        """Clients of ours that are at home elsewhere."""
        self.dropped = 0  # for want of room
        self.may_go_back: Callable[[str], bool] = lambda client: False  # asked whose session another may take back
        self._own = Home(turn.node, address)
        self._of: dict[str, Home] = {}

    def elsewhere(self, client: str) -> Home | None:
        """The home of a client that has no session here; None if it may begin one here."""
        home = self._of.get(client)
        return home if home is not None and home.broker != self.turn.node and client not in self.clients else None

    # --- what happens here

    def begun(self, client: str) -> None:
        """The client is here, with a session."""
        self.over.pop(client, None)
        home = self._of.get(client)
        if self.options.unique and home != self._own and self._has_room(client):
            self._of[client] = self._own
            self.book.write(HOME, client, _written(self._own), keep=home is not None)

    def recalled(self, client: str) -> None:
        """A session of a life before is here again."""
        if self.options.unique and client not in self._of and self._has_room(client):
            self._of[client] = self._own
            self.book.propose(HOME, client, _written(self._own))

    def all_recalled(self) -> None:
        """Of what a life before said that it has, nothing else is here."""
        for client, _ in list(self.book.all(HOME)):
            if client not in self.clients:
                self.book.write(HOME, client, b"")

    def moved_in(self, client: str, old: str) -> None:
        """Its session has come from broker ``old``, which has it no longer."""
        home = self._of.get(client)
        if home is None or home.broker in (old, self.turn.node):
            self.begun(client)
        else:
            self.over[client] = None

    def moved_out(self, client: str, home: Home) -> None:
        """Its session is there now. That one says so itself; till then its client must not begin anew here."""
        if self.options.unique and self._of.get(client) == self._own:
            self._of[client] = home

    def ended(self, client: str) -> None:
        self.over.pop(client, None)
        home = self._of.get(client)
        if home is not None and home.broker == self.turn.node:
            del self._of[client]
            self.book.write(HOME, client, b"")

    def _has_room(self, client: str) -> bool:
        room = client in self._of or len(self._of) < self.options.homes_max
        self.dropped += not room
        return room

    # --- what others say

    def news(self, keys: Iterable[Key]) -> None:
        """These lines have become others."""
        for kind, client in keys:
            if kind == HOME:
                self._read(client, self.book.get(kind, client))

    def _read(self, client: str, value: bytes) -> None:
        try:
            home = _decoder.decode(value) if value else None
        except msgspec.MsgspecError:  # another broker's fault
            self.book.refused += 1
            return
        self._of.pop(client, None)
        if home is None:
            if client in self.clients and not self.may_go_back(client):
                self.begun(client)
            return
        if not self._has_room(client):
            return
        self._of[client] = home
        if home.broker == self.turn.node and client not in self.clients:
            self.ended(client)
        elif home.broker == self.turn.node:
            self.begun(client)  # a life before has said so, which may have been reached elsewhere
        elif home.broker != self.turn.node and client in self.clients:
            self.over[client] = None

    def is_over(self, client: str, old: str) -> bool:
        """Whether what was noted is still so. ``old``: the broker that the session has come from, if it has just."""
        home = self._of.get(client)
        return client in self.clients and home is not None and home.broker not in (self.turn.node, old)


def _written(home: Home) -> bytes:
    return msgspec.msgpack.encode(home)
