"""P-Grid at one peer: meetings make the tree, searches go through it.

Two peers that meet compare their paths. Where both have the same and many share it, each takes one half; who has the
shorter path takes the half that the other has not; where they differ, each is a reference of the other, and they bring
each other together with those that they know on the other's side. Meetings are by chance, and become rarer.

A search goes from peer to peer, each nearer to the key, to one who answers for it; that one answers directly. It may
bring an entry with it: who asks for the members of its topic becomes one for the length of a lease. Replicas tell each
other of entries, and all they have when they meet.

What the original leaves open is settled so. How long paths are nobody has to know: they grow where enough peers share
them. A meeting is two messages, and while one waits for the answer its path does not change, so that both ends agree.
Who does not confirm a word is dead (``courier``) and forgotten; where the last reference of a level is gone, the path
ends above it, and its owner answers for the other side, too, until somebody of there is met.

Owns: meetings, searches under way, what is kept for all. Must not know: what a topic's members do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from reknit.community.courier import Courier
from reknit.community.grid.shelf import Shelf
from reknit.community.grid.trie import Trie, key_of, other_bit
from reknit.community.options import GridOptions
from reknit.community.turn import Turn
from reknit.community.view import View
from reknit.wire.peers import Copies, Exchange, Exchanged, Found, GridWord, Seek, Withdraw, Word

__all__ = ["Grid"]

SEEKS_MAX = 256
"""Searches of ours under way."""
QUEUE_MAX = 8
"""Peers that are still to be met since others have said so."""
SAMPLE = 4
"""Acquaintances that two who meet tell each other of."""
MEETING_S = 5.0
"""After so long an answer is not waited for any more."""


@dataclass(slots=True)
class _Seeking:
    word: Seek
    tries_left: int
    next_at: float


@dataclass(frozen=True, slots=True)
class _Meeting:
    number: int
    with_: str
    depth: int
    until: float


class Grid:
    def __init__(self, options: GridOptions, turn: Turn, courier: Courier) -> None:
        self.options = options
        self.turn = turn
        self.courier = courier
        self.trie = Trie(turn.me, options, turn.rng)
        self.shelf = Shelf(options.topics_max, options.entries_max)
        self.acquaintances = View(turn.me, options.acquaintances_max)
        self.keepers: dict[str, str] = {}  # by topic that we are a member of: who has said so
        self.answers: list[Found] = []  # of our own
        self._seeking: dict[tuple[int, str], _Seeking] = {}
        self._meeting: _Meeting | None = None
        self._queue: list[tuple[str, int]] = []
        self._every_s = options.meet_s
        self._meet_at = turn.now + turn.jitter(options.meet_s)

    @property
    def good_s(self) -> float:
        """For how long an answer is good. Who lives says so more often; who has less of its lease is not handed out."""
        return min(self.options.lease_s / 2, 2 * self.options.refresh_s)

    # --- searches of ours

    def seek(self, number: int, topic: str, want: int, lease_s: float = 0.0) -> None:
        """The answer comes with this number; perhaps never."""
        if len(self._seeking) >= SEEKS_MAX:
            self.turn.count("grid_full")
            return
        word = Seek(self.turn.me, number, topic, want, lease_s, self.options.hops_max)
        self._seeking[number, topic] = _Seeking(word, self.options.tries - 1, self.turn.now + self.options.answer_s)
        self._take_seek(word)

    def withdraw(self, topic: str) -> None:
        """We are no member of it any more."""
        keeper = self.keepers.pop(topic, "")
        if keeper == self.turn.me:
            self._take_withdrawal(self.turn.me, Withdraw(topic, self.turn.me))
        elif keeper:
            self.courier.send(keeper, Withdraw(topic, self.turn.me))

    def meet(self, peers: tuple[str, ...]) -> None:
        for peer in peers:
            self._learn(peer)

    def meet_next(self, peer: str) -> None:
        """Whatever was thought of it before."""
        self._queue_up([peer], 0)

    # --- words

    def receive(self, sender: str, word: GridWord) -> None:
        self._learn(sender)
        match word:
            case Exchange():
                self._take_meeting(sender, word)
            case Exchanged():
                self._take_outcome(sender, word)
            case Seek():
                self._take_seek(word)
            case Found():
                self._take_found(sender, word)
            case Copies():
                self._take_copies(word)
            case Withdraw():
                self._take_withdrawal(sender, word)

    def _learn(self, peer: str) -> None:
        if self.acquaintances.is_full() and peer not in self.acquaintances:
            self.acquaintances.drop(self.acquaintances.sample(self.turn.rng, 1)[0])
        self.acquaintances.add(peer)

    # --- searches

    def _take_seek(self, word: Seek) -> None:
        key = key_of(word.topic)
        if self.trie.answers_for(key):
            self._answer(word)
            return
        further = self.trie.nearer(key)
        if further is None:
            self._shrink()
            self._take_seek(word)
        elif word.hops_left:
            onward = Seek(word.origin, word.number, word.topic, word.want, word.lease_s, word.hops_left - 1)
            self.courier.send(further, onward)
        else:
            self.turn.count("grid_lost")

    def _answer(self, word: Seek) -> None:
        if word.lease_s:
            self._keep(word.topic, word.origin, word.lease_s)
            for replica in self.trie.replicas:
                self.turn.send(replica, Copies(word.topic, ((word.origin, word.lease_s),), 0))
        self.shelf.expire(self.turn.now)
        until = self.turn.now + self.good_s
        peers = self.shelf.draw(word.topic, word.want, word.origin, self.turn.rng, until)
        found = Found(word.number, word.topic, peers, self.shelf.count(word.topic, until))
        if word.origin == self.turn.me:
            self._take_found(self.turn.me, found)
        else:
            self.turn.send(word.origin, found)

    def _keep(self, topic: str, peer: str, lease_s: float) -> None:
        if not self.shelf.put(topic, peer, self.turn.now + min(lease_s, self.options.lease_s)):
            self.turn.count("grid_full")

    def _take_found(self, sender: str, found: Found) -> None:
        seeking = self._seeking.pop((found.number, found.topic), None)
        if seeking is None:
            self.turn.count("unasked")
            return
        if seeking.word.lease_s:
            self.keepers[found.topic] = sender
        self.answers.append(found)

    def _take_copies(self, word: Copies) -> None:
        key = key_of(word.topic)
        if self.trie.answers_for(key):
            for peer, lease_s in word.entries:
                self._keep(word.topic, peer, lease_s)
        elif word.hops_left and (further := self.trie.nearer(key)) is not None:
            self.courier.send(further, Copies(word.topic, word.entries, word.hops_left - 1))

    def _take_withdrawal(self, sender: str, word: Withdraw) -> None:
        """Nobody can withdraw others, but for replicas, who were told."""
        if sender != word.peer and sender not in self.trie.replicas:
            self.turn.count("forged")
        elif self.shelf.remove(word.topic, word.peer) and sender == word.peer:
            for replica in self.trie.replicas:
                self.courier.send(replica, word)

    # --- meetings

    def _take_meeting(self, sender: str, word: Exchange) -> None:
        trie, theirs = self.trie, word.path
        common = trie.common(theirs)
        bit = ""
        meet: tuple[str, ...] = ()
        if common == len(theirs) == len(trie.path):
            bit = self._share(sender, theirs)
        elif common == len(theirs):
            bit = other_bit(trie.path[common])
        elif common == len(trie.path):
            if self._meeting is None and len(trie.path) < self.options.path_bits_max:
                self._grow(other_bit(theirs[common]), sender)
        else:
            meet = self._bring_together(common, word)
        trie.note(sender, theirs + bit)
        self._mix(word.references, word.peers)
        answer = Exchanged(word.number, trie.path, theirs, bit, trie.told(), self._sample(), meet, word.depth)
        self.courier.send(sender, answer)

    def _share(self, sender: str, theirs: str) -> str:
        """Same path: split it if many have it, or else have the same entries. The other's bit, if it was split."""
        self.trie.note(sender, theirs)
        if self._meeting is None and self.trie.is_crowded():
            mine = self.turn.rng.choice("01")
            self._grow(mine, sender)
            return other_bit(mine)
        self._tell_all(sender)
        return ""

    def _bring_together(self, common: int, word: Exchange) -> tuple[str, ...]:
        """Different sides: whom we know on theirs they should meet, and we whom they know on ours."""
        if word.depth >= self.options.depth_max:
            return ()
        if common < len(word.references):
            self._queue_up([peer for peer, _ in word.references[common]], word.depth + 1)
        known = [peer for peer in self.trie.references[common] if peer != self.turn.me]
        return tuple(known[:SAMPLE])

    def _take_outcome(self, sender: str, word: Exchanged) -> None:
        meeting = self._meeting
        if meeting is None or (meeting.number, meeting.with_) != (word.number, sender):
            self.turn.count("unasked")
            return
        self._meeting = None
        if word.bit and word.at == self.trie.path and len(word.at) < self.options.path_bits_max:
            self._grow(word.bit, sender)
        self.trie.note(sender, word.path)
        if word.path == self.trie.path:
            self._tell_all(sender)
        self._mix(word.references, word.peers)
        self._queue_up(word.meet, meeting.depth + 1)

    def _queue_up(self, peers: tuple[str, ...] | list[str], depth: int) -> None:
        for peer in peers:
            if peer != self.turn.me and len(self._queue) < QUEUE_MAX and depth <= self.options.depth_max:
                self._queue.append((peer, depth))

    def _mix(self, references: tuple[tuple[tuple[str, str], ...], ...], peers: tuple[str, ...]) -> None:
        for level in references:
            for peer, path in level:
                self.trie.note(peer, path, hearsay=True)
        for peer in peers:
            self._learn(peer)

    def _sample(self) -> tuple[str, ...]:
        return tuple(self.acquaintances.sample(self.turn.rng, SAMPLE))

    def _grow(self, bit: str, other: str) -> None:
        """What falls to the other side goes there."""
        self.trie.grow(bit)
        self._every_s = self.options.meet_s
        for topic in self.shelf.topics():
            if not self.trie.answers_for(key_of(topic)):
                self._tell(topic, other)
                self.shelf.take(topic)

    def _shrink(self) -> None:
        if self.trie.shrink():
            self.turn.count("grid_shrunk")
            self._every_s = self.options.meet_s

    def _tell_all(self, replica: str) -> None:
        for topic in self.shelf.topics():
            self._tell(topic, replica)

    def _tell(self, topic: str, peer: str) -> None:
        for entries in self.shelf.entries(topic, self.turn.now):
            self.courier.send(peer, Copies(topic, entries, self.options.hops_max))

    # --- time

    def deadline(self) -> float:
        if self._meeting is not None:
            meet_at = self._meeting.until
        else:
            meet_at = self.turn.now if self._queue else self._meet_at
        return min(meet_at, min((each.next_at for each in self._seeking.values()), default=inf))

    def due(self) -> None:
        now = self.turn.now
        if self._meeting is not None and self._meeting.until <= now:
            self._meeting = None
        if self._meeting is None and (self._queue or self._meet_at <= now):
            self._begin_meeting()
        for key, each in list(self._seeking.items()):
            if each.next_at <= now:
                self._seek_again(key, each)

    def _seek_again(self, key: tuple[int, str], each: _Seeking) -> None:
        if not each.tries_left:
            del self._seeking[key]
            self.turn.count("unanswered")
            return
        each.tries_left -= 1
        each.next_at = self.turn.now + self.options.answer_s
        self._take_seek(each.word)

    def _begin_meeting(self) -> None:
        if self._queue:
            peer, depth = self._queue.pop(0)
        else:
            self._meet_at = self.turn.now + self.turn.jitter(self._every_s)
            self._every_s = min(2 * self._every_s, self.options.meet_s_max)
            known = list(dict.fromkeys([*self.acquaintances, *self.trie.known()]))
            if not known:
                return
            peer, depth = self.turn.rng.choice(known), 0
        number = self.turn.number()
        self._meeting = _Meeting(number, peer, depth, self.turn.now + MEETING_S)
        self.courier.send(peer, Exchange(number, self.trie.path, self.trie.told(), self._sample(), depth))

    def failed(self, to: str, word: Word) -> None:
        """It is dead: a search goes by another way."""
        self.acquaintances.drop(to)
        self.trie.drop(to)
        if self._meeting is not None and self._meeting.with_ == to:
            self._meeting = None
        if isinstance(word, Seek):
            self._take_seek(word)
        elif isinstance(word, Copies) and word.hops_left:
            self._take_copies(word)
