"""What can be set: for a peer, and for each of its topics.

The letters of a topic's parameters are the paper's: a peer gossips to ``ln N + c`` others of its community; about
``g`` of the community's members pass an event upward, each to about ``a`` of the ``z`` members of the parent that it
knows; when fewer than ``tau`` of those are alive, it asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite

import msgspec

from reknit.wire.peers import HOPS_MAX, LEASE_S_MAX, PEERS_MAX

__all__ = [
    "BadOption",
    "CourierOptions",
    "GridOptions",
    "PeerOptions",
    "ScampOptions",
    "SuperOptions",
    "TopicOptions",
    "check_options",
]


Z_MAX = PEERS_MAX
"""Members above that one message can name."""


class ScampOptions(msgspec.Struct, frozen=True):
    copies: int = 1
    """SCAMP's own ``c``: extra copies of a subscription. Views have about ``(copies + 1) ln N`` members."""
    lease_s: float = 120.0
    """For how long others remember a member that says nothing more."""
    heartbeat_s: float = 5.0
    isolation_beats: int = 4
    """After so many heartbeats that should have come and did not, a member takes itself for forgotten."""
    epoch_beats: int = 8
    """Heartbeats that one count of the community takes."""
    walk_hops: int = 32
    """How far a newcomer's subscription wanders at most before somebody acts on it, so that contacts are chosen evenly;
    its contact lets it go about ``2 ln N`` hops, by its count of the community."""
    reunion_s: float = 60.0
    """Every so often a member asks somebody who is not in its view for members: those of another part, if there are
    parts that do not know of each other. 0: never."""
    view_max: int = 96
    """A view never grows beyond this; nor does the list of those who have us in theirs beyond twice as many."""


class CourierOptions(msgspec.Struct, frozen=True):
    """For words that must not get lost."""

    retry_s: float = 0.3
    backoff: float = 1.0
    """By how much longer each further wait is: more than 1 where all share what they crowd."""
    tries: int = 5
    waiting_max: int = 1000
    """Words that wait to be confirmed; one more is sent once, and not repeated."""


class SuperOptions(msgspec.Struct, frozen=True):
    check_s: float = 5.0
    """Every so often a member checks the members of the parent that it knows, with probability ``p_sel``; 0: never."""
    answer_s: float = 1.5
    """Who has been asked three times and has not answered within this is taken for dead."""
    failed_s: float = 60.0
    """For how long who was taken for dead is not taken up again on somebody else's word."""
    search_s: float = 1.0
    """Between two attempts to find anybody, while the scope still grows; 0: nobody is searched for."""
    search_s_max: float = 30.0
    """The same later on, when levels that were empty may have been filled."""
    search_hops: int = 3
    """How far a search is passed on."""
    search_fan: int = 3
    """To how many each passes it on."""


class GridOptions(msgspec.Struct, frozen=True):
    """Of P-Grid, for the memberships that use it."""

    references_max: int = 3
    """Peers that are known of the other side, at each bit of the path."""
    replicas_min: int = 2
    """A path is shared by so many at least: it grows only where twice as many share it."""
    replicas_max: int = 16
    """Of those who share the path, so many are known."""
    path_bits_max: int = 16
    depth_max: int = 2
    """How many further meetings a meeting leads to, one after the other."""
    meet_s: float = 0.5
    """Between two meetings while the path is new; later the time doubles, up to ``meet_s_max``."""
    meet_s_max: float = 15.0
    answer_s: float = 1.0
    """Who has not answered a search within this is asked again."""
    tries: int = 3
    hops_max: int = 32
    lease_s: float = 60.0
    """For how long a member is known that says nothing more."""
    refresh_s: float = 10.0
    """Every so often a member says that it is one, and gets another table, where tables come from here."""
    entries_max: int = 10_000
    """Members of one topic that a peer keeps for all."""
    topics_max: int = 1000
    acquaintances_max: int = 32


class TopicOptions(msgspec.Struct, frozen=True):
    c: float = 5.0
    g: float = 5.0
    p_sel: float | None = None
    """How likely a member passes an event upward, where that is not to follow from ``g``."""
    a: float = 1.0
    z: int = 3
    tau: int | None = None
    """None: ``z - 1``."""
    membership: str = "scamp"
    publisher_forces_upward: bool = False
    """Whether a publisher passes its own events upward for certain."""
    population: int | None = None
    """How many members the community has, where that is known; None for an estimate."""
    seen_max: int = 10_000
    """Ids of events that a member remembers, to take each once."""
    scamp: ScampOptions = ScampOptions()
    supers: SuperOptions = SuperOptions()

    @property
    def alive_min(self) -> int:
        return self.z - 1 if self.tau is None else self.tau


class PeerOptions(msgspec.Struct, frozen=True):
    topic: TopicOptions = TopicOptions()
    """What holds for every topic that ``topics`` does not name."""
    topics: Mapping[str, TopicOptions] = {}
    parents: Mapping[str, tuple[str, ...]] = {}
    """By topic, its parents where they are others than the topic one level up; none for a root."""
    communities_max: int = 64
    contacts_max: int = 64
    absent_s: float = 20.0
    """Every so often one of those who did not answer is asked again: the network may have been in parts. 0: never."""
    absent_s_max: float = 3600.0
    """For so long somebody who does not answer is remembered; whom the user has named, for ever."""
    pending_max: int = 100
    """Events that wait for their publisher to become a member."""
    pending_s_max: float = 5.0
    courier: CourierOptions = CourierOptions()
    grid: GridOptions = GridOptions()
    observe: bool = False

    def of(self, topic: str) -> TopicOptions:
        return self.topics.get(topic, self.topic)


class BadOption(ValueError):
    """A parameter that no peer can have."""


def check_options(options: PeerOptions) -> None:
    """Raise ``BadOption`` unless these can be a peer's. Many peers often share them: those are looked at once."""
    global _good
    if options is _good:
        return
    for topic, terms in {"": options.topic, **options.topics}.items():
        for name, is_good, ought in _rules(terms):
            if not is_good:
                raise BadOption(f"{name}{' of ' if topic else ''}{topic}: it is {ought}")
    _good = options


_good: PeerOptions | None = None


def _rules(terms: TopicOptions) -> list[tuple[str, bool, str]]:
    """By parameter, whether it can be so, and what it has to be. A comparison with no number is false."""
    scamp = terms.scamp
    return [
        ("c", isfinite(terms.c), "a number"),
        ("g", 0.0 <= terms.g < inf, "0 or more"),
        ("z", 1 <= terms.z <= Z_MAX, f"from 1 to {Z_MAX}"),
        ("a", 0.0 < terms.a <= terms.z, "more than 0, and z at most"),
        ("tau", 0 <= terms.alive_min <= terms.z, "from 0 to z"),
        ("p_sel", terms.p_sel is None or 0.0 <= terms.p_sel <= 1.0, "a probability"),
        ("population", terms.population is None or terms.population >= 1, "1 or more"),
        ("seen_max", terms.seen_max >= 1, "1 or more"),
        ("scamp.copies", scamp.copies >= 0, "0 or more"),
        ("scamp.lease_s", 0.0 < scamp.lease_s <= LEASE_S_MAX, f"more than 0, and {LEASE_S_MAX:g} at most"),
        ("scamp.heartbeat_s", 0.0 < scamp.heartbeat_s < inf, "more than 0"),
        ("scamp.walk_hops", 0 <= scamp.walk_hops <= HOPS_MAX, f"from 0 to {HOPS_MAX}"),
        ("scamp.view_max", scamp.view_max >= 1, "1 or more"),
        ("supers.search_hops", 0 <= terms.supers.search_hops <= HOPS_MAX, f"from 0 to {HOPS_MAX}"),
    ]
