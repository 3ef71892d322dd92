"""What all brokers together remember of the changes of the tree.

Owns: putting the entries of one change together, and finding a change by the beginning of its id. Must not know: doors.
The broker that was asked for a change tells how it went; the others add what they have sent. Swaps that are steps of a
larger change are found under its id, too.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import msgspec

from reknit.cli._problem import BadInput
from reknit.core.overlay.history import ADD, DRAIN, Deed

__all__ = ["Told", "deeds_of", "find", "forgotten", "left", "tell"]


class Told(msgspec.Struct):
    """One change. ``begun`` and ``ended`` are seconds since 1970."""

    id: str
    kind: str
    brokers: list[str]
    begun: float
    ended: float | None
    outcome: str
    of: str = ""
    messages: int = 0
    bytes: int = 0
    undo: dict[str, Any] | None = None
    parts: list[dict[str, Any]] = []
    strategy: str = ""
    """Of a replacement, like the next one."""
    near: int = 0
    goal: str = ""
    """What the larger change is after, as a command."""

    @property
    def deed(self) -> Deed:
        return Deed(self.kind, tuple(self.brokers), self.strategy, self.near)

    @property
    def unknown(self) -> list[str]:
        """Who has taken part, and does not say what it has sent. Of one that was added nobody else says anything."""
        known = {part["broker"] for part in self.parts}
        return [name for name in self.brokers if name not in known and self.kind != ADD]


def tell(said: list[dict[str, Any]]) -> list[Told]:
    """``said``: what each broker tells at ``/changes``. In the order in which they began."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for each in said:
        under_way = each["under_way"] or {}
        for entry in each["history"]:
            now = under_way if under_way.get("id") == entry["id"] else {}
            entries.setdefault(entry["id"], []).append({**entry, "broker": each["name"], "now": now})
    found = [_together(parts) for parts in entries.values()]
    return sorted(found, key=lambda told: (told.begun, told.id))


def _together(parts: list[dict[str, Any]]) -> Told:
    parts.sort(key=lambda part: part["brokers"].index(part["broker"]) if part["broker"] in part["brokers"] else 9)
    first = parts[0]  # who was asked for it, if that one remembers
    done = first["ended"] is not None and not first["error"]
    of, _, goal = next((part["of"] for part in parts if part["of"]), "").partition(" ")
    return Told(
        first["id"],
        first["kind"],
        first["brokers"],
        min(part["begun"] for part in parts),
        first["ended"],
        "done" if done else _outcome(first),
        of,
        sum(part["messages"] for part in parts),
        sum(part["bytes"] for part in parts),
        first["undo"],
        [{key: part[key] for key in ("broker", "part", "messages", "bytes", "now")} for part in parts],
        first.get("strategy", ""),
        first.get("near", 0),
        goal,
    )


def _outcome(part: dict[str, Any]) -> str:
    if part.get("unsure"):
        return f"perhaps done: {part['error']}; the tree says whether: reknit topology"
    if part["ended"] is not None:
        return f"not done: {part['error']}"
    if part["now"]:
        return f"under way: {part['now']['stage']}, waits for {part['now']['waits_for']}"
    return f"will be tried again: {part['error']}"


def find(changes: list[Told], text: str, verb: str = "show") -> list[Told]:
    """The change whose id begins so, or the steps of the larger one that does; ``BadInput`` if there is none.

    ``verb``: of ``reknit change``, for which it is looked for.
    """
    known = [name for told in changes for name in (told.of, told.id) if name]
    ids = sorted({name for name in known if name.startswith(text)})
    if text in ids:
        ids = [text]
    if not ids:
        raise BadInput(f"no broker remembers a change {text!r}{_nearest(known, text, verb)} (see reknit change list)")
    if len(ids) > 1:
        raise BadInput(f"{text!r} may be {' or '.join(ids)}; give more of it")
    return [told for told in changes if ids[0] in (told.id, told.of)]


def _nearest(known: list[str], text: str, verb: str) -> str:
    """The command with the most similar id, or else with the last one: that may be shown, but not undone at a guess."""
    if not known:
        return "; there are none"
    close = get_close_matches(text, known, 1)
    if close:
        return f"; try: reknit change {verb} {close[0]}"
    return f"; the last one is {known[-1]}; try: reknit change show {known[-1]}"


def forgotten(changes: list[Told], text: str) -> str:
    """Of a change that was looked for as a whole: what of it nobody remembers, for people to read."""
    whole = changes[0].of
    steps, known = whole.rpartition("-")[2], sum(1 for told in changes if told.undo)
    if not whole.startswith(text) or not steps.isdigit() or known >= int(steps):
        return ""
    return f"{whole}: of its {steps} steps {known} are known to be done; the others were not, or who made them has left"


def deeds_of(changes: list[Told]) -> list[Deed]:
    """Those of them that were done; ``BadInput`` if there is nothing to go back on."""
    if not (done := [told.deed for told in changes if told.undo]):
        raise BadInput(f"{changes[0].id} has changed nothing ({changes[0].outcome}), so there is nothing to be undone")
    return done


def left(changes: list[Told]) -> dict[str, str]:
    """By broker that was drained: the change by which it was, as a whole; the last one counts."""
    return {told.brokers[0]: told.of or told.id for told in changes if told.kind == DRAIN and told.undo}
