"""Who may publish what, and who may receive what.

A *rule* is for some users and clients (names with ``*`` for any letters), and allows them topics to publish to, and
topic filters to subscribe to, with a condition on the content where it has one. Rules only ever allow; what no rule
allows is refused. In filters ``%u`` is the user's name and ``%c`` the client's identifier; a client without a name, or
whose name could change the meaning of a filter, has no rule with the one that it lacks.

Reading is decided for each copy of each event, by ``Grants.may_receive``, whatever way the event has come: live, kept
for later, retained, repeated, shared, or after the session has moved. That a subscription was accepted is a courtesy
to the client, and proves nothing.

Owns: the decision. Must not know: sessions, or where rules are written down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from reknit.model.event import Event
from reknit.model.pattern import BadPattern, Pattern
from reknit.model.topic import filter_covers, topic_matches

__all__ = ["Access", "BadRule", "Grants", "Rule"]

RULES_MAX = 10_000
FILTERS_MAX = 1_000
"""Of one rule."""
_UNSAFE = ("+", "#", "/", "$")
"""Wildcards, another level, and the topics that are not for everybody."""
_MARK = re.compile("%[uc]")


class BadRule(ValueError):
    """The operator's fault."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user: str = "*"
    """Of clients without a user name, the empty one."""
    client: str = "*"
    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    where: str = ""
    """A selector: of what is subscribed, only events that match it are received."""

    def check(self) -> None:
        """``BadRule`` unless every filter and the selector are well formed."""
        if len(self.publish) + len(self.subscribe) > FILTERS_MAX:
            raise BadRule(f"a rule for user {self.user!r} has more than {FILTERS_MAX} filters")
        try:
            for each in (*self.publish, *self.subscribe):
                Pattern.parse(each.replace("%u", "u").replace("%c", "c"), self.where)
        except BadPattern as error:
            raise BadRule(f"a rule for user {self.user!r}: {error}") from None


class Access:
    """All rules; none at all (``None``) allows everything to everybody."""

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        if rules is not None and len(rules) > RULES_MAX:
            raise BadRule(f"there are more than {RULES_MAX} rules")
        for rule in rules or ():
            rule.check()
        self._rules = rules

    @property
    def count(self) -> int | None:
        """How many rules there are; ``None`` where everything is allowed without one."""
        return len(self._rules) if self._rules is not None else None

    def grants(self, user: str, client: str) -> Grants | None:
        """What this client may do; None where that is everything."""
        if self._rules is None:
            return None
        fit = [rule for rule in self._rules if fnmatchcase(user, rule.user) and fnmatchcase(client, rule.client)]
        publish = [each for rule in fit for each in _filled(rule.publish, user, client)]
        read = [Pattern.parse(each, rule.where) for rule in fit for each in _filled(rule.subscribe, user, client)]
        return Grants(publish, read)


def _filled(filters: Iterable[str], user: str, client: str) -> Iterable[str]:
    names = {"%u": user, "%c": client}
    for each in filters:
        used = [names[mark] for mark in _MARK.findall(each)]
        if all(name and not any(bad in name for bad in _UNSAFE) for name in used):
            yield _MARK.sub(lambda mark: names[mark[0]], each)  # at once: a name may look like a mark


class Grants:
    """What one client may do."""

    __slots__ = ("_publish", "_read")

    def __init__(self, publish: Sequence[str], read: Sequence[Pattern]) -> None:
        self._publish = publish
        self._read = read

    def may_publish(self, topic: str) -> bool:
        return any(topic_matches(each, topic) for each in self._publish)

    def may_subscribe(self, topic_filter: str) -> bool:
        """Whether it could receive anything at all of it, and nothing of it lies outside of what is allowed."""
        return any(filter_covers(each.topic, topic_filter) for each in self._read)

    def may_receive(self, event: Event) -> bool:
        return any(each.matches(event) for each in self._read)
