"""Publisher-based pull (EPIDEMIC, 4.2, Figure 3, right).

Events say by which brokers they have come. In a round a broker draws a source of which something is missing, and sends
a question back along the way of its last event, reversed (erratum 7). The first on the way who has an event sends it,
past the tree, and takes it off the list. A broker on the way that is no neighbour any more is left out; if none of
those that are still ahead is one, the question goes to the publisher's broker itself, past the tree.

Owns: a round of it, and the way of its question. Must not know: what is cached where.
"""

from __future__ import annotations

from itertools import islice
from typing import ClassVar

from msgspec.structs import replace

from reknit.core.recovery.cache import Cached
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Triple
from reknit.core.recovery.ranges import count, to_ranges
from reknit.core.recovery.strategy import Strategy
from reknit.wire.messages import Asker, MissesOf, Range

__all__ = ["PublisherPull", "ask_the_publisher", "receive_misses_of", "receive_question"]


class PublisherPull(Strategy):
    name: ClassVar[str] = "publisher-pull"
    records_routes: ClassVar[bool] = True

    def is_wanted(self) -> bool:
        return len(self.talk.lost) > 0

    def begin_round(self) -> None:
        talk = self.talk
        known = [each for each in talk.lost.sources(talk.turn.now) if each in talk.routes and self._is_for_us(each)]
        some = min(len(known), talk.options.patterns_per_round)
        for source in talk.rng.sample(known, some) if some else ():
            self._ask(source)

    def _is_for_us(self, source: str) -> bool:
        return any(self.concerns(each) for each, _ in self.talk.lost.of_source(source, self.talk.turn.now))

    def _ask(self, source: str) -> None:
        """Along the way; past the tree for what has been asked for in vain, since each hop may lose the question."""
        talk, (route, address, key) = self.talk, self.talk.routes[source]
        left = talk.options.digest_numbers_max
        near: list[tuple[int, float, list[Range]]] = []
        far: list[tuple[int, float, list[Range]]] = []
        for signature, numbers in list(talk.lost.of_source(source, talk.turn.now)):
            if not self.concerns(signature) or left <= 0:
                continue
            chosen = talk.lost.newest(source, signature, numbers, left)
            left -= len(chosen)
            stubborn = [each for each in chosen if self._is_stubborn((source, signature, each))] if address else []
            for some, into in ((stubborn, far), ([each for each in chosen if each not in stubborn], near)):
                if some:
                    into.append((signature, talk.age_s(signature), to_ranges(some)))
            talk.ask(source, signature, chosen)
        if near:
            _pass_on(talk, MissesOf(talk.begin(), source, near, list(route), address, key))
        if far:
            ask_the_publisher(talk, MissesOf(talk.begin(), source, far, list(route[-1:]), address, key))

    def _is_stubborn(self, triple: Triple) -> bool:
        after = self.talk.options.direct_after
        return bool(after) and self.talk.lost.entries[triple].asked >= after


def receive_question(talk: Talk, message: MissesOf) -> None:
    """Past the tree, from whomever: it ends here, and answers go only to those who know our key.

    Anybody may send a datagram and say that it is from elsewhere. The key stands in our events, so whoever names it is
    one that they come to, and no stranger; else a few bytes would send many to whomever they name, and tell it what
    it may not read.
    """
    if message.key == talk.key:
        talk.meet(message.asker.name, message.wants)
        receive_misses_of(talk, "", replace(message, route=[]))
    else:
        talk.figures.unentitled += 1


def receive_misses_of(talk: Talk, sender: str, message: MissesOf) -> None:
    """``sender``: empty if it came past the tree."""
    if not talk.is_new(message.asker):
        return
    rest: list[tuple[int, float, list[Range]]] = []
    found = []
    ours, left = message.source == talk.source, talk.options.digest_numbers_max
    for signature, age_s, ranges in message.lost[:left]:
        if not talk.is_entitled(signature, sender):
            continue
        some, missing = talk.take_out(signature, age_s, [(message.source, ranges)], left)
        left = max(0, left - count(ranges))
        found += some
        rest += [(signature, age_s, left) for _, left in missing]
    if not sender:
        found += _of_others(talk, message, left)
    talk.answer(message.asker, found, *(talk.refused(rest) if ours else ()))
    route = message.route[1:] if message.route[:1] == [talk.turn.node] else message.route
    if rest and route:
        _pass_on(talk, replace(message, lost=rest, route=route), apart_from=sender)


def _of_others(talk: Talk, message: MissesOf, left: int) -> list[Cached]:
    """What has come here of other sources; nobody is told what has not. ``left``: so many numbers are looked at."""
    found = list[Cached]()
    some = ((source, *each) for source, lost in message.others if source != talk.source for each in lost)
    for source, signature, age_s, ranges in islice(some, left):
        if talk.is_entitled(signature, ""):
            found += talk.take_out(signature, age_s, [(source, ranges)], left)[0]
            left = max(0, left - count(ranges))
    return found


def _pass_on(talk: Talk, message: MissesOf, apart_from: str = "") -> None:
    """To the next on the way that is a neighbour; else to the publisher's broker, past the tree.

    Not back to the one that it has come from, where it was heard before: the tree has changed since the way was found.
    """
    for place, name in enumerate(message.route):
        if name != apart_from and talk.overlay.link(name) is not None:
            talk.tell([name], replace(message, route=message.route[place:]))
            return
    if message.address and message.route:
        ask_the_publisher(talk, message)


def ask_the_publisher(talk: Talk, message: MissesOf) -> None:
    to = Asker(message.route[-1], message.address, message.asker.round)
    talk.send(to, replace(message, route=message.route[-1:]))
    talk.figures.requests += 1
