"""What recovery has done so far, in numbers.

Owns: the counts, by names that operators see. Must not know: who counts.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Figures"]


@dataclass(slots=True)
class Figures:
    gaps: int = 0
    """Runs of events that were found missing."""
    lost: int = 0
    """Events that were found missing; those that are only suspected do not count."""
    recovered: int = 0
    given_up: int = 0
    """Of those found missing, what has not come in time, or had to make room."""
    cut: int = 0
    """Of those found missing, what was never asked for: beyond the bound of one gap."""
    heartbeats: int = 0
    """Messages that say the last numbers, sent or passed on: all that a neighbour is told at once is one, if it fits
    into a datagram, or as many as it takes."""
    gossip: int = 0
    """Other messages along the tree, sent or passed on."""
    requests: int = 0
    """Messages past the tree that ask for something."""
    repairs: int = 0
    """Datagrams with events."""
    repaired: int = 0
    """The events in them."""
    waited: int = 0
    """Events that were held for a client that wants order."""
    hurried: int = 0
    """Of those, what went though something was still missing before it."""
    unnumbered: int = 0
    """Numbers that events published here should have, and have not, since there are too many patterns that match: who
    wants one of those left out does not notice if the event is lost."""
    # what was dropped
    malformed: int = 0
    """Datagrams that nobody can read."""
    replayed: int = 0
    """Messages of a round that was heard before."""
    unasked: int = 0
    """Answers to no question, and events that nobody here misses."""
    unentitled: int = 0
    """Questions about what nobody wants in the direction that they came from; and past the tree those of strangers, and
    those about a pattern that their asker was not told of."""
    unheard_of: int = 0
    """Numbers that were asked for, or offered, beyond what one message may name, or make a broker look for."""
    never_were: int = 0
    """Numbers that were looked for since somebody spoke of them, and that their publisher has never given."""
    # what is not believed
    unconfirmed: int = 0
    """Numbers that clients were told of as missing since somebody spoke of them, and that were given up while no later
    event had come, nor had their publisher said that they have been: lost all the same, or a lie."""
    hearsay: int = 0
    """Numbers that are looked for since somebody spoke of them, though nothing that has come stands for them."""
