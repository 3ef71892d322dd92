"""What can be set: for a peer, and for each of its topics.

The letters of a topic's parameters are the paper's: a peer gossips to ``ln N + c`` others of its community; about
``g`` of the community's members pass an event upward, each to about ``a`` of the ``z`` members of the parent that it
knows; when fewer than ``tau`` of those are alive, it asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import TypeAlias

import msgspec

from reknit.community.census import BEATS_MIN
from reknit.wire.peers import BITS_MAX, HOPS_MAX, LEASE_S_MAX, PEERS_MAX, REFERENCES_MAX

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
    vouch_tries: int = 0
    """Whether who brings an event into the community, its publisher or who was vouched to, vouches that it rises: asks
    one of the members above that it knows after the other, each so often, until one confirms. 0: as in the paper, those
    who are drawn pass it upward, and nobody else does."""
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
    _check("", _peer_rules(options) + _courier_rules(options.courier) + _grid_rules(options.grid))
    for topic, terms in {"": options.topic, **options.topics}.items():
        _check(topic, _rules(terms) + _scamp_rules(terms.scamp) + _super_rules(terms.supers))
    _good = options


_good: PeerOptions | None = None

_Rule: TypeAlias = tuple[str, bool, str]
"""A parameter, whether it can be so, and what it has to be. A comparison with no number is false."""


def _check(topic: str, rules: list[_Rule]) -> None:
    for name, is_good, ought in rules:
        if not is_good:
            raise BadOption(f"{name}{' of ' if topic else ''}{topic}: it is {ought}")


def _positive(name: str, value: float) -> _Rule:
    return name, 0.0 < value < inf, "more than 0"


def _from(least: int, name: str, value: float) -> _Rule:
    return name, least <= value < inf, f"{least} or more"


def _hops(name: str, value: int) -> _Rule:
    return name, 0 <= value <= HOPS_MAX, f"from 0 to {HOPS_MAX}"


def _lease(name: str, value: float) -> _Rule:
    return name, 0.0 < value <= LEASE_S_MAX, f"more than 0, and {LEASE_S_MAX:g} at most"


def _rules(terms: TopicOptions) -> list[_Rule]:
    return [
        ("c", isfinite(terms.c), "a number"),
        _from(0, "g", terms.g),
        ("z", 1 <= terms.z <= Z_MAX, f"from 1 to {Z_MAX}"),
        ("a", 0.0 < terms.a <= terms.z, "more than 0, and z at most"),
        ("tau", 0 <= terms.alive_min <= terms.z, "from 0 to z"),
        ("p_sel", terms.p_sel is None or 0.0 <= terms.p_sel <= 1.0, "a probability"),
        ("population", terms.population is None or terms.population >= 1, "1 or more"),
        _from(0, "vouch_tries", terms.vouch_tries),
        _from(1, "seen_max", terms.seen_max),
    ]


def _scamp_rules(scamp: ScampOptions) -> list[_Rule]:
    return [
        _from(0, "scamp.copies", scamp.copies),
        _lease("scamp.lease_s", scamp.lease_s),
        _positive("scamp.heartbeat_s", scamp.heartbeat_s),
        _from(1, "scamp.isolation_beats", scamp.isolation_beats),
        _from(BEATS_MIN, "scamp.epoch_beats", scamp.epoch_beats),
        _hops("scamp.walk_hops", scamp.walk_hops),
        _from(0, "scamp.reunion_s", scamp.reunion_s),
        _from(1, "scamp.view_max", scamp.view_max),
    ]


def _super_rules(supers: SuperOptions) -> list[_Rule]:
    return [
        _from(0, "supers.check_s", supers.check_s),
        _positive("supers.answer_s", supers.answer_s),
        _from(0, "supers.failed_s", supers.failed_s),
        _from(0, "supers.search_s", supers.search_s),
        _positive("supers.search_s_max", supers.search_s_max),
        _hops("supers.search_hops", supers.search_hops),
        _from(1, "supers.search_fan", supers.search_fan),
    ]


def _peer_rules(options: PeerOptions) -> list[_Rule]:
    return [
        _from(1, "communities_max", options.communities_max),
        _from(1, "contacts_max", options.contacts_max),
        _from(0, "absent_s", options.absent_s),
        _positive("absent_s_max", options.absent_s_max),
        _from(1, "pending_max", options.pending_max),
        _from(0, "pending_s_max", options.pending_s_max),
    ]


def _courier_rules(courier: CourierOptions) -> list[_Rule]:
    return [
        _positive("courier.retry_s", courier.retry_s),
        _from(1, "courier.backoff", courier.backoff),
        _from(1, "courier.tries", courier.tries),
        _from(0, "courier.waiting_max", courier.waiting_max),
    ]


def _grid_rules(grid: GridOptions) -> list[_Rule]:
    return [
        ("grid.references_max", 1 <= grid.references_max <= REFERENCES_MAX, f"from 1 to {REFERENCES_MAX}"),
        _from(1, "grid.replicas_min", grid.replicas_min),
        ("grid.replicas_max", grid.replicas_min <= grid.replicas_max, "replicas_min or more"),
        ("grid.path_bits_max", 0 <= grid.path_bits_max <= BITS_MAX, f"from 0 to {BITS_MAX}"),
        _hops("grid.depth_max", grid.depth_max),
        _positive("grid.meet_s", grid.meet_s),
        ("grid.meet_s_max", grid.meet_s <= grid.meet_s_max < inf, "meet_s or more"),
        _positive("grid.answer_s", grid.answer_s),
        _from(1, "grid.tries", grid.tries),
        _hops("grid.hops_max", grid.hops_max),
        _lease("grid.lease_s", grid.lease_s),
        ("grid.refresh_s", 0.0 < grid.refresh_s <= grid.lease_s / 2, "more than 0, and half of lease_s at most"),
        _from(1, "grid.entries_max", grid.entries_max),
        _from(1, "grid.topics_max", grid.topics_max),
        _from(1, "grid.acquaintances_max", grid.acquaintances_max),
    ]
