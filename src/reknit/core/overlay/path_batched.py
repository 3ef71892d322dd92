"""``path`` with fewer and shorter messages.

- Patterns that are said at one moment travel in one message: subscriptions over the new link and along the tail, the
  unsubscriptions of B.
- On the head a pattern is named once: what is deleted is added as well, so ``add`` holds only the rest.
- Over the new link no pattern of ``add`` is named. Once the tail is done, what D's side wants *is* ``add``, unless
  clients have come or gone meanwhile; a digest of it tells. If it does not fit, D asks, and C says what it holds.
- D says nothing to C before that, so nothing is said that the end of the change would undo.

C may die before it answers. Then D waits no longer than for the tail: it tells C all that it wants, as over any link
that begins, and the change is over.

Owns: the digest, and the question. Must not know: what a pattern means.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from reknit.core.overlay.change import Place
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.parts import held_parts
from reknit.core.overlay.path import Far, Path
from reknit.core.overlay.strategy import Hands
from reknit.core.turn import earliest
from reknit.model.pattern import Pattern
from reknit.wire.messages import AskHeld, ChangeMessage, Held, Rec

__all__ = ["DIGEST_BYTES", "PathBatched", "digest_of"]

DIGEST_BYTES = 16


def digest_of(patterns: Iterable[Pattern]) -> bytes:
    """The same for the same set, in whatever order."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for pattern in sorted(patterns):
        for text in (pattern.topic.encode(), pattern.selector.encode()):
            digest.update(len(text).to_bytes(4, "big") + text)
    return digest.digest()


class PathBatched(Path):
    together = True

    def __init__(self, hands: Hands) -> None:
        super().__init__(hands)
        self._asked: dict[str, Far] = {}  # by change: D waits for C's answer

    def receive(self, peer: str, message: ChangeMessage) -> Iterable[OverlayEvent]:
        match message:
            case AskHeld(id=id_):
                for part in held_parts(id_, self.hands.tables.wanted_by(peer)):
                    self.hands.send(peer, part)
            case Held():
                if (whole := self._parts.held(peer, message)) is not None:
                    self._answered(peer, whole)
            case _:
                return super().receive(peer, message)
        return ()

    # --- the message

    def _write(self, add: list[Pattern], delete: list[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
        void = dict.fromkeys(delete)
        return [pattern for pattern in add if pattern not in void], delete

    def _read(self, rec: Rec) -> tuple[list[Pattern], list[Pattern]]:
        return [*rec.add, *rec.delete], rec.delete

    def _cross(self, place: Place, add: list[Pattern]) -> None:
        self._send(place.behind, place.change, digest=digest_of(add))

    # --- the far end of the new link

    def _compare(self, place: Place, rec: Rec) -> None:
        """Not yet: the tail may hold what is stale."""

    def _reconcile(self, far: Far) -> None:
        peer = far.place.before
        wanted = self.hands.tables.wanted_apart_from(peer)
        if digest_of(wanted) == far.rec.digest:
            self.hands.tables.begin_telling(peer, wanted, hold=False)
            self.hands.finished(far.place.change)
        else:
            until = self.hands.turn.now + self.hands.options.flush_s_max
            self._asked[far.place.change.id] = replace(far, until=until)
            self.hands.send(peer, AskHeld(far.place.change.id))

    def _answered(self, peer: str, held: Held) -> None:
        far = self._asked.get(held.id)
        if far is not None and far.place.before == peer:
            del self._asked[held.id]
            self.hands.tables.begin_telling(peer, held.patterns, hold=False)
            self.hands.tables.level(peer, self.together)
            self.hands.finished(far.place.change)

    # --- what goes wrong

    def gone(self, peer: str) -> None:
        super().gone(peer)
        for id_ in [id_ for id_, far in self._asked.items() if far.place.before == peer]:
            self.hands.finished(self._asked.pop(id_).place.change)

    def deadline(self) -> float | None:
        return earliest(super().deadline(), *[far.until for far in self._asked.values()])

    def due(self) -> None:
        super().due()
        for id_ in [id_ for id_, far in self._asked.items() if self.hands.turn.now >= far.until]:
            far = self._asked.pop(id_)
            self.hands.tables.tell(far.place.before)
            self.hands.finished(far.place.change)
