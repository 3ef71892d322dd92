"""The named times, chances and bounds of recovery."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from reknit.core.recovery.policies import PolicyName

__all__ = ["RecoveryName", "RecoveryOptions"]

RecoveryName: TypeAlias = Literal[
    "none", "push", "subscriber-pull", "publisher-pull", "combined", "random-pull", "auto"
]

Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
Chance: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]


class RecoveryOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    algorithm: RecoveryName = "none"
    """How lost events come back; all brokers of a network should do the same."""

    of: dict[str, RecoveryName] = {}
    """The same for patterns with these topic filters, where it is to be another one."""

    gossip_s: Seconds = 0.1
    """Between two rounds of gossip, as long as there is a reason for one."""

    patterns_per_round: Positive = 4
    """Patterns, or sources, that one round is about; each is a message of its own."""

    fanout: Positive = 1
    """Pulls: neighbours that a message goes to, at its origin and wherever it is passed on."""

    forward: Chance = 0.9
    """The chance that a message is passed on: push to each neighbour; pulls, by those who want the pattern."""

    source_share: Chance = 0.5
    """``combined``: the chance that a round asks towards the publisher, and not towards other subscribers."""

    direct_after: Annotated[int, msgspec.Meta(ge=0)] = 1
    """Pulls towards the publisher: after so many attempts along the way its broker is asked past the tree; 0: never."""

    cache: PolicyName = "strangers-first"
    """What is kept for others, and what goes first: own, en-route, strangers-first or probabilistic."""

    cache_events_max: Positive = 4096
    cache_bytes_max: Positive = 64 * 1024 * 1024
    """What the cache holds."""

    digest_s_max: Seconds = 10.0
    """``push``: older events are not offered any more."""

    digest_numbers_max: Positive = 256
    """Events that one message names; the newest where there are more."""

    wants_max: Annotated[int, msgspec.Meta(ge=0)] = 32
    """``auto``: patterns that a question says are wanted where it comes from, so that others may ask there, too."""

    answer_bytes_max: Positive = 32 * 1024
    """Events sent in answer to one message, in bytes; one at least, if a datagram can carry it."""

    again_s: Seconds = 0.1
    again_growth: Annotated[float, msgspec.Meta(ge=1)] = 1.3
    again_s_max: Seconds = 0.8
    """The wait before an event is asked for again: the first, how many times as long each next one is, the longest."""

    hold_s_max: Annotated[float, msgspec.Meta(ge=0)] = 2.5
    """``auto``: for how long what is missing may be gathered before it is asked for."""

    back_s: Seconds = 4.0
    """``auto``: so soon what is missing should be back; the more is lost, the less long it is gathered, so that there
    is time to ask again."""

    price: Annotated[float, msgspec.Meta(gt=0)] = 1.5
    """``auto``: messages that an event may cost that comes back; where they cost more, more are gathered."""

    last_resort_s: Annotated[float, msgspec.Meta(ge=0)] = 5.0
    """An event that has been missing for so long is asked for everywhere, and again when it has been for twice as long.
    0 for never: then the algorithms are the paper's."""

    lost_s_max: Seconds = 30.0
    """An event that has not come by then is given up."""

    losses_max: Positive = 16_384
    """Events that are asked for at a time; beyond it the oldest is given up."""

    gap_max: Positive = 1024
    """Of one gap, the newest events that are asked for."""

    hearsay_max: Positive = 4096
    """Events that one message of others may make a broker ask for; and those of one source that it only heard of."""

    first_max: Annotated[int, msgspec.Meta(ge=0)] = 64
    """Events before the first one that has come of a source: so many are asked for, in case they were lost.

    Where a life before has wanted them, ``gap_max``, as far as half of ``losses_max`` has room."""

    heartbeat_s: Seconds = 0.5
    """A source that has published nothing for a pattern for so long says which number was the last."""

    heartbeats: Annotated[int, msgspec.Meta(ge=0)] = 2
    """How often it says so, each time after a longer while; 0 for never."""

    heartbeat_gather_s: Annotated[float, msgspec.Meta(ge=0)] = 0.1
    """For how long such words wait at each broker on their way, so that many go as one; 0: they go on at once."""

    held_max: Positive = 4096
    """Such words of others that may wait in a broker that begins, until it knows who wants what."""

    order_s_max: Seconds = 30.0
    """The longest that events wait for earlier ones, whatever a client asks for."""

    order_events_max: Positive = 65_536
    """Events that wait so at a time, for all clients together; beyond it they go at once."""

    leave_s_max: Annotated[float, msgspec.Meta(ge=0)] = 10.0
    """How long a session that is to move stays because something that it wants is missing."""

    bequest_bytes_max: Positive = 1024 * 1024
    """Events of its cache that a broker which is drained hands over to the one that takes its clients, the newest."""

    patterns_max: Positive = 65_536
    """Patterns whose events this broker numbers."""

    streams_max: Positive = 65_536
    """Pairs of a source and a pattern whose last number is remembered."""

    sources_max: Positive = 4096
    """Sources whose events, and the ways by which they come, are remembered."""

    ids_max: Positive = 262_144
    """Runs of events that came without a gap, of all sources together, as the guard against copies."""

    rounds_max: Positive = 4096
    """Rounds, of this broker and of others, that are remembered, so that each is answered once."""

    hops_max: Annotated[int, msgspec.Meta(ge=1, le=255)] = 64
    """Brokers that a message of gossip may pass."""

    @property
    def names(self) -> list[RecoveryName]:
        """All that are in use."""
        return [name for name in dict.fromkeys([self.algorithm, *self.of.values()]) if name != "none"]
