"""What one client has subscribed to.

In MQTT a subscription is known by its filter: the same filter again replaces it, and UNSUBSCRIBE names the filter
alone. The core knows patterns: a filter and a selector, in canonical form. So a subscription again with another
selector is a new pattern for the core and the end of the old one; and where two filters mean the same pattern, the
core sees it once.

Owns: the table from filter to subscription, and from pattern back. Must not know: packets on the wire, other clients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from reknit.model.event import ORDER_PROPERTY, SELECTOR_PROPERTY, Event
from reknit.model.pattern import BadPattern, Pattern
from reknit.mqtt.access import Grants
from reknit.mqtt.bulletin import is_local
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Request, Subscribe, Unsubscribe
from reknit.mqtt.properties import Properties, PropertyId, integer, pairs
from reknit.mqtt.reasons import Reason

__all__ = ["Outcome", "Refusal", "Subscription", "Subscriptions", "order_of", "read_request", "selector_of"]


Share: TypeAlias = tuple[str, Pattern]
"""A group, and what it shares."""


class Subscription(msgspec.Struct, frozen=True, gc=False):
    filter: str
    pattern: Pattern
    qos: int = 0
    no_local: bool = False
    identifier: int = 0
    """0 where the client gave none."""
    retain_as_published: bool = False
    group: str = ""
    """With whose other members it is shared; empty for a subscription of the client's own."""
    order_s: float = 0.0
    """For how long events may wait for earlier ones of their source that were lost."""

    @property
    def share(self) -> Share:
        return self.group, self.pattern

    @property
    def special(self) -> bool:
        """Whether a delivery must look at it even at QoS 0."""
        return not self.group and (self.no_local or self.identifier > 0 or self.retain_as_published)


_SHARED = "$share/"


class Refusal(msgspec.Struct, frozen=True, gc=False):
    """Why a filter of a SUBSCRIBE is not taken."""

    reason: Reason
    why: str


@dataclass(slots=True)
class Outcome:
    """What a SUBSCRIBE or an UNSUBSCRIBE came to."""

    reasons: list[Reason] = field(default_factory=list)
    """One for each filter of the packet."""
    whys: list[str] = field(default_factory=list)
    """The different causes of refusals, in their order."""
    learn: list[Pattern] = field(default_factory=list)
    """What the core must learn."""
    forget: list[Pattern] = field(default_factory=list)
    """What the core must forget after that."""
    join: list[Share] = field(default_factory=list)
    part: list[Share] = field(default_factory=list)
    """The same of what is shared."""
    order: list[tuple[Pattern, float]] = field(default_factory=list)
    """Of which patterns events may wait for earlier ones, and how long, from now on."""
    replay: list[Subscription] = field(default_factory=list)
    """Those that are to be sent what was retained."""

    def refuse(self, refusal: Refusal) -> None:
        self.reasons.append(refusal.reason)
        if refusal.why not in self.whys:
            self.whys.append(refusal.why)

    def note(self, learn: Share | None, forget: Share | None) -> None:
        """Without a group, it is the client's own."""
        if learn is not None:
            self.join.append(learn) if learn[0] else self.learn.append(learn[1])
        if forget is not None:
            self.part.append(forget) if forget[0] else self.forget.append(forget[1])


class Subscriptions:
    """The subscriptions of one session."""

    __slots__ = ("_by_filter", "_by_pattern", "_by_share", "_orders", "_special", "local")

    def __init__(self) -> None:
        self._by_filter: dict[str, Subscription] = {}
        self._by_pattern: dict[Pattern, list[Subscription]] = {}
        self._by_share: dict[Share, list[Subscription]] = {}
        self._orders: dict[Pattern, float] = {}  # as the core knows it, where it is not 0
        self._special = 0
        self.local = 0  # how many ask for what only this broker publishes, which the core need not know

    def __len__(self) -> int:
        return len(self._by_filter)

    def __contains__(self, topic_filter: str) -> bool:
        return topic_filter in self._by_filter

    def all(self) -> list[Subscription]:
        return list(self._by_filter.values())

    def patterns(self) -> tuple[Pattern, ...]:
        """What the core has to know."""
        return tuple(self._by_pattern)

    def sure_patterns(self) -> tuple[Pattern, ...]:
        """Of those, what is never delivered at QoS 0 because of what the client has asked for."""
        return tuple(pattern for pattern, each in self._by_pattern.items() if all(one.qos for one in each))

    def shared_patterns(self) -> tuple[Share, ...]:
        """The same of groups."""
        return tuple(self._by_share)

    def restore(self, subscriptions: Iterable[Subscription]) -> None:
        """Those of a session that another door had; the core knows their patterns."""
        for each in subscriptions:
            self._put(each)
        self.orders(Outcome(), self._by_pattern)

    def orders(self, outcome: Outcome, patterns: Iterable[Pattern]) -> None:
        """Note for how long events of these may wait, where that has changed; of several wishes the longest counts."""
        for pattern in dict.fromkeys(patterns):
            wait_s = max((each.order_s for each in self._by_pattern.get(pattern, ())), default=0.0)
            if wait_s == self._orders.get(pattern, 0.0):
                continue
            self._orders[pattern] = wait_s
            if not wait_s:
                del self._orders[pattern]
            if pattern in self._by_pattern:
                outcome.order.append((pattern, wait_s))

    def ordered(self) -> list[tuple[Pattern, float]]:
        """The same, all of it, for a core that does not know."""
        return list(self._orders.items())

    @property
    def shares(self) -> bool:
        """Whether any is shared."""
        return bool(self._by_share)

    @property
    def special(self) -> bool:
        """Whether any has an option that matters even at QoS 0."""
        return self._special > 0

    def subscribe(self, packet: Subscribe, options: DoorOptions, grants: Grants | None = None) -> Outcome:
        """Take what a SUBSCRIBE asks for, as far as it can be taken. ``grants``: what is allowed; None for all."""
        outcome = Outcome()
        for request in packet.requests:
            read = read_request(request, packet.properties, options)
            if isinstance(read, Subscription) and grants is not None and not grants.may_subscribe(read.pattern.topic):
                read = Refusal(Reason.NOT_AUTHORIZED, f"{request.filter} is not allowed")
            if isinstance(read, Subscription) and len(self) >= options.filters_max and request.filter not in self:
                read = Refusal(Reason.QUOTA_EXCEEDED, f"a client has at most {options.filters_max} subscriptions")
            if isinstance(read, Refusal):
                outcome.refuse(read)
                continue
            outcome.reasons.append(Reason(read.qos))
            if not read.group and request.retain_handling < (1 if request.filter in self else 2):
                outcome.replay.append(read)
            before = self._by_filter.get(request.filter, read)
            learn, forget = self._put(read)
            outcome.note(learn, forget)
            self.orders(outcome, (before.pattern, read.pattern))
        return outcome

    def unsubscribe(self, packet: Unsubscribe) -> Outcome:
        outcome = Outcome()
        for topic_filter in packet.filters:
            known = topic_filter in self
            outcome.reasons.append(Reason.SUCCESS if known else Reason.NO_SUBSCRIPTION_EXISTED)
            before = self._by_filter.pop(topic_filter, None)
            outcome.note(None, self._drop(before))
            if before is not None:
                self.orders(outcome, (before.pattern,))
        return outcome

    def _holders(self, of: Subscription) -> list[Subscription]:
        """Those that are one to the core."""
        if of.group:
            return self._by_share.setdefault(of.share, [])
        return self._by_pattern.setdefault(of.pattern, [])

    def _put(self, new: Subscription) -> tuple[Share | None, Share | None]:
        """What the core must learn, and what it must forget."""
        holders = self._holders(new)
        learn = None if holders or is_local(new.filter) else new.share
        holders.append(new)
        self._special += new.special
        self.local += is_local(new.filter)
        forget = self._drop(self._by_filter.get(new.filter))
        self._by_filter[new.filter] = new
        return learn, forget

    def _drop(self, old: Subscription | None) -> Share | None:
        if old is None:
            return None
        holders = self._holders(old)
        holders.remove(old)
        self._special -= old.special
        self.local -= is_local(old.filter)
        if holders:
            return None
        if old.group:
            del self._by_share[old.share]
        else:
            del self._by_pattern[old.pattern]
        return None if is_local(old.filter) else old.share

    def wanting(self, event: Event) -> tuple[Pattern, ...]:
        """The patterns that match what this broker says of itself."""
        return tuple(
            each.pattern for each in self._by_filter.values() if is_local(each.filter) and each.pattern.matches(event)
        )

    def matching(self, patterns: Iterable[Pattern]) -> list[Subscription]:
        """The subscriptions behind ``patterns``, in their order."""
        by_pattern = self._by_pattern
        return [subscription for pattern in patterns for subscription in by_pattern.get(pattern, ())]

    def shared(self, share: Share) -> list[Subscription]:
        """Those that are shared in this way."""
        return list(self._by_share.get(share, ()))


def selector_of(properties: Properties) -> str:
    """The selector that a SUBSCRIBE carries; empty where there is none."""
    found = [value for name, value in pairs(properties) if name == SELECTOR_PROPERTY]
    if len(found) > 1:
        raise BadPattern("a SUBSCRIBE carries at most one selector")
    return found[0] if found else ""


def order_of(properties: Properties) -> float:
    """For how long a SUBSCRIBE lets events wait for earlier ones, in seconds; 0 where it does not say so."""
    found = [value for name, value in pairs(properties) if name == ORDER_PROPERTY]
    try:
        seconds = [float(value) for value in found]
    except ValueError:
        seconds = [math.nan]
    if len(found) > 1 or not all(0 <= each < math.inf for each in seconds):
        raise BadPattern(f"{ORDER_PROPERTY} says once for how many seconds events may wait for earlier ones")
    return seconds[0] if seconds else 0.0


def read_request(request: Request, properties: Properties, options: DoorOptions) -> Subscription | Refusal:
    """The subscription that a request asks for, or why it cannot be one."""
    if request.filter in options.refused_filters:
        return Refusal(Reason.UNSPECIFIED_ERROR, f"{request.filter} is refused here")
    try:
        _check_size(request.filter, options)
        group, topic_filter = _group_of(request.filter)
        pattern = Pattern.parse(topic_filter)
    except BadPattern as error:
        return Refusal(Reason.FILTER_INVALID, _one_line(error))
    if not options.wildcards and ("+" in topic_filter or "#" in topic_filter):
        return Refusal(Reason.WILDCARDS_NOT_SUPPORTED, "this broker takes exact topics, not filters with + or #")
    try:
        selector = selector_of(properties)
        pattern = Pattern.parse(topic_filter, selector) if selector else pattern
        order_s = 0.0 if group or is_local(request.filter) else order_of(properties)
    except BadPattern as error:
        return Refusal(Reason.IMPLEMENTATION_ERROR, _one_line(error))
    identifier = integer(properties, PropertyId.SUBSCRIPTION_ID, 0)
    as_published = request.retain_as_published
    return Subscription(
        request.filter, pattern, request.qos, request.no_local, identifier, as_published, group, order_s
    )


def _group_of(topic_filter: str) -> tuple[str, str]:
    """The group of a filter, empty where there is none, and the filter without it."""
    if not topic_filter.startswith(_SHARED):
        return "", topic_filter
    group, _, rest = topic_filter.removeprefix(_SHARED).partition("/")
    if not group or not rest or "+" in group or "#" in group:
        raise BadPattern("a shared subscription is written $share/group/filter, and the group without + or #")
    return group, rest


def _one_line(error: BadPattern) -> str:
    """The place and the reason, without the picture of a selector, which takes more lines than a reason may have."""
    return str(error).partition("\n")[0]


def _check_size(topic_filter: str, options: DoorOptions) -> None:
    if len(topic_filter.encode()) > options.topic_bytes_max:
        raise BadPattern(f"a filter has at most {options.topic_bytes_max} bytes")
    if topic_filter.count("/") >= options.topic_levels_max:
        raise BadPattern(f"a filter has at most {options.topic_levels_max} levels")
