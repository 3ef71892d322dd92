"""A broker with a client of its own that has no connection: what is for it is put aside for the shell.

Owns: taking that out of the effects. Must not know: what becomes of it.
"""

from __future__ import annotations

from typing import Protocol

from reknit.core.broker import Broker
from reknit.core.io import Deliver, Detach, Drain, Effect, Input
from reknit.model.event import Event

__all__ = ["Aside", "MemberBroker"]


class Aside(Protocol):
    """Where events are put; a list, or whatever the shell has."""

    def append(self, event: Event, /) -> None: ...


class MemberBroker(Broker):
    """After ``enter``. Before it is drained the client leaves: it is of this broker alone, and cannot move."""

    inner: str = ""
    aside: Aside

    def enter(self, client: str, aside: Aside) -> None:
        """From now on what is for ``client`` goes there. Whoever enters attaches it, and subscribes."""
        self.inner, self.aside = client, aside

    def handle(self, given: Input, now: float) -> list[Effect]:
        left: list[Effect] = []
        if type(given) is Drain and self.inner:
            left = super().handle(Detach(self.inner), now)
            self.inner = ""
        effects = super().handle(given, now)
        if not self.inner:
            return left + effects
        return [kept for each in effects if (kept := self._kept(each)) is not None]

    def _kept(self, effect: Effect) -> Effect | None:
        if type(effect) is not Deliver or all(match[0] != self.inner for match in effect.matches):
            return effect
        self.aside.append(effect.event)
        matches = tuple(match for match in effect.matches if match[0] != self.inner)
        return Deliver(effect.event, matches) if matches else None
