"""What a campaign has gone through: which messages of which changes, and where brokers were when they were struck.

Each step of a change is a record of the trace; what is counted here is by kind of change, step and part. Beside what
was seen stands what there is to be seen (``expected``), so that a campaign can say what it has not covered.

Owns: the names of steps, and which there are. Must not know: how a schedule is drawn, or how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reknit.trace.records import Kind, Record

__all__ = [
    "FAULTS",
    "NOTIFIED",
    "POINTS_OF_PLACES",
    "REPLACEMENTS",
    "changes",
    "crash_points",
    "expected",
    "expected_on_ring",
    "missing",
    "points",
]

_FAULTS = {Kind.CRASHED: "crash", Kind.PAUSED: "pause", Kind.CUT: "cut"}
FAULTS = tuple(_FAULTS.values())
"""What a broker may meet with in a change; being cut off counts where the other takes part in it, too."""

LAST_STEPS = (
    *("end at the goal", "emptied", "undone", "lockNack", "unlock"),  # of a swap
    *("answer", "mark"),  # of a return
    *("connect at the neighbour", "connectAck at the new"),  # of an add
    "left",  # of a drain
    *("over", "let go", "dismissed", "RCFG_FINISH", "caught up"),  # of a change of places
)
"""How the names of those steps begin behind which a broker takes part in a change no more."""

ASIDES = ("ask", "seated")
"""The same of words about a change of before, to a broker that may be in another one by now."""

VARYING = ("dismissed", "caught up")
"""How the names of those steps begin that say more than which step it is."""

AT_MANAGER = " at the manager"
"""How the names of the manager's own steps end: it takes part as any broker does, besides."""

NOTIFIED = "notified deferred"
"""What the strategy is called here where a flush tells the ends of the old link that they may go on."""

# --- a replacement: a broker takes part in it from its lock to its end

_ALL = ("first", "head", "near end", "far end", "tail", "last")
_ASKED = _ALL[1:]
_ANSWERED = _ALL[:-1]

_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "strawman": {"Commit": ("head", "near end", "far end"), "Flush": _ANSWERED},
    "deferred": {"Commit": ("head", "near end", "far end")},
    NOTIFIED: {"Commit": ("head", "near end", "far end"), "Flush": _ALL},
    "path": {"Rec": _ASKED, "Ctrl": ("first", "head"), "Flush": ("far end", "tail")},
    "path-batched": {
        "Rec": _ASKED,
        "Ctrl": ("first", "head"),
        "Flush": ("far end", "tail"),
        "AskHeld": ("near end",),
        "Held": ("far end",),
    },
}
"""By strategy: what is said besides what is always said, and in which part it is heard.

Of ``strawman``, a flush walks only where the last word about a broker is taken for the truth. The first may be the near
end as well, and the last the far end: what they hear then is not asked for here.
"""

_ENDS = {
    "strawman": ("Commit at the far end",),
    "deferred": ("Commit at the far end",),
    NOTIFIED: ("Commit at the far end", *(f"Flush at the {part}" for part in _ALL)),  # it travels ahead of the end
    "path": ("Flush at the far end",),
    "path-batched": ("Held at the far end",),
}
"""What a broker hears at the end: then it takes part in the change no more."""

REPLACEMENTS = tuple(_WORDS)


def _said(kind: str) -> list[str]:
    always = {"Prepare": _ASKED, "Prepared": _ANSWERED, "Done": ("first", "head", "near end", "tail", "last")}
    words = {**always, "Abort": _ASKED, **_WORDS[kind]}
    return [f"{word} at the {part}" for word, parts in words.items() for part in parts]


def crash_points(kind: str) -> list[str]:
    """The steps of a replacement behind which a broker still takes part in it."""
    over = (*("Prepare at", "Done", "Abort"), *_ENDS[kind])
    return [*(f"lock at the {part}" for part in _ALL), *(step for step in _said(kind) if not step.startswith(over))]


# --- what there is

_STEPS = {
    "swap": (
        *(
            "start at the mover",
            "lock at the middle",
            "lock at the goal",
            "lockAck at the middle",
            "lockAck at the mover",
        ),
        *("lockNack at the middle", "lockNack at the mover", "unlock at the middle", "unlock at the goal"),
        *(
            "swap at the goal",
            "swap at the middle",
            "swap at the mover",
            "connect at the mover",
            "connectAck at the goal",
        ),
        *("side at the goal", "open at the goal", "close(ab) at the goal", "close(ab) at the middle"),
        *("close(ba) at the goal", "close(ba) at the mover", "leave at the middle", "leave at the mover"),
        *("emptied at the middle", "emptied at the mover"),
        *("end at the goal", "end at the middle", "end at the mover"),
    ),
    "add": ("start at the new one", "connect at the neighbour", "connectAck at the new one"),
    "drain": (
        *(
            "start at the leaver",
            "draining at the heir",
            "welcome at the leaver",
            "offer at the heir",
            "taken at the leaver",
        ),
        *("opened at the leaver", "rest at the heir", "told at the heir"),
        *("end at the leaver", "left at the leaver", "left at the heir"),
    ),
}
_STEPS_OF_CRASHES = {
    "swap": (
        *("ask at the goal", "ask at the middle", "ask at the mover", "seated at the middle"),
        *("undone at the goal", "undone at the middle", "undone at the mover"),
        *("without at the goal", "without at the middle", "without at the mover"),
    ),
    "return": (
        *(
            "start at the one that is back",
            "inquire at the other",
            "answer at the other",
            "mark at the one that is back",
        ),
    ),
    "drain": ("undone at the leaver", "withdraw at the heir"),
}
_POINTS_OF_CRASHES: Mapping[str, tuple[str, ...]] = {
    "swap": ("without at the middle", "without at the mover"),
    "return": _STEPS_OF_CRASHES["return"],
    "drain": ("withdraw at the heir",),
}


def points(kind: str, crashing: bool) -> list[str]:
    """The steps of a swap, an add or a drain behind, or in, which one that takes part may be struck."""
    first = [step for step in _STEPS.get(kind, ()) if step != "left at the leaver"]  # whoever has left is not there
    return [*first, *(_POINTS_OF_CRASHES.get(kind, ()) if crashing else ())]


_PLACES = (
    *(f"{step}{AT_MANAGER}" for step in ("INIT", "OVERLAY", "PUBSUB", "FINISH", "over", "let go")),
    *("RCFG_INIT", "RCFG_OVERLAY", "RCFG_PUBSUB", "RCFG_PUBSUB 3.2", "RCFG_FINISH"),
    *("RCFG_FINISH heard of", "dismissed", "caught up"),
)
POINTS_OF_PLACES = tuple(step for step in _PLACES if not step.startswith(LAST_STEPS))
"""The steps of a change of places behind which a broker, or the manager, still takes part in it."""


def expected_on_ring() -> list[str]:
    """The same of brokers that are on a ring."""
    crashes = [_struck("crash", "places", step) for step in POINTS_OF_PLACES]
    return [*(_step("places", step) for step in _PLACES), *crashes]


def expected(crashing: bool) -> list[str]:
    """The names of all steps of changes that there are, and of all points at which brokers may meet with a fault.

    ``crashing``: whether they crash; else they are paused and cut off only.
    """
    steps = {**_STEPS, **{kind: tuple(_said(kind)) for kind in REPLACEMENTS}}
    names = [_step(kind, step) for kind, some in steps.items() for step in some]
    if crashing:
        names += [_step(kind, step) for kind, some in _STEPS_OF_CRASHES.items() for step in some]
    struck = {kind: points(kind, crashing) for kind in ("swap", "return", "add", "drain")}
    struck |= {kind: crash_points(kind) for kind in REPLACEMENTS}
    faults = FAULTS if crashing else FAULTS[1:]
    return names + [_struck(each, kind, step) for kind, some in struck.items() for step in some for each in faults]


def missing(coverage: Mapping[str, int], names: Iterable[str]) -> list[str]:
    """Of what is expected, what was not seen."""
    return [name for name in names if not coverage.get(name)]


# --- what was seen


@dataclass(slots=True)
class _Part:
    """A node that takes part in a change."""

    steps: list[str] = field(default_factory=list)
    """The last one; with it those of the same moment, where each is a message of its own."""
    at: float = 0.0
    over: bool = False
    """It takes part no more; but in this very moment its last words are still under way."""
    peers: dict[str, None] = field(default_factory=dict)
    """Whom it has to do with."""

    def take(self, record: Record, step: str, alone: bool) -> None:
        if self.over:
            self.peers.clear()
        if alone or record.time > self.at:
            self.steps.clear()
        self.steps.append(step)
        self.at = record.time
        self.peers[record.peer] = None

    def struck_in(self, time: float) -> list[str]:
        return self.steps if time == self.at else [] if self.over else self.steps[-1:]


class _Seen:
    """Which steps were taken, and in which of them whoever took part was struck."""

    def __init__(self, notified: bool) -> None:
        self.notified = notified
        self.found: Counter[str] = Counter()
        self._parts: dict[tuple[str, str], _Part] = {}  # by node and kind of change

    def step(self, record: Record) -> None:
        kind, _, step = record.detail.partition(": ")
        kind = NOTIFIED if self.notified and kind == "deferred" else kind
        step = next((each for each in VARYING if kind == "places" and step.startswith(each)), step)
        self.found[_step(kind, step)] += 1
        if step.startswith(ASIDES):
            return
        own = f"{kind}{AT_MANAGER}" if step.endswith(AT_MANAGER) else kind
        if kind in REPLACEMENTS:
            self._replace(record, kind, step)
        elif kind in _STEPS or kind in _STEPS_OF_CRASHES:
            self._take(record, own, step).over = step.startswith(LAST_STEPS)
        elif step.startswith(LAST_STEPS):
            self._parts.pop((record.node, own), None)
        else:
            self._take(record, own, step, alone=True)

    def _replace(self, record: Record, kind: str, step: str) -> None:
        """What a broker hears of a replacement that it is not locked for changes nothing."""
        if step.startswith("end at"):
            self._parts.pop((record.node, kind), None)
        elif (record.node, kind) in self._parts or step.startswith("lock at"):
            self._take(record, kind, step, alone=True)

    def _take(self, record: Record, kind: str, step: str, alone: bool = False) -> _Part:
        part = self._parts.setdefault((record.node, kind), _Part())
        part.take(record, step, alone)
        return part

    def strike(self, record: Record) -> None:
        fault = _FAULTS[record.kind]
        for (node, kind), part in list(self._parts.items()):
            if node != record.node or (record.peer and not self._share(part, kind, record.peer)):
                continue
            plain = kind.removesuffix(AT_MANAGER)
            self.found.update(_struck(fault, plain, step) for step in part.struck_in(record.time))
            if fault == "crash":
                del self._parts[node, kind]

    def _share(self, part: _Part, kind: str, other: str) -> bool:
        """Whether this change is one of both."""
        return other in part.peers or (other, kind) in self._parts


def changes(records: Iterable[Record], notified: bool = False) -> Counter[str]:
    """Which steps of changes were taken, in which part; and in which step a broker was when it was struck."""
    seen = _Seen(notified)
    for record in records:
        if record.kind is Kind.CHANGE:
            seen.step(record)
        elif record.kind in _FAULTS:
            seen.strike(record)
    return seen.found


def _step(kind: str, step: str) -> str:
    return f"step of {_a(kind)}: {step}"


def _struck(fault: str, kind: str, step: str) -> str:
    return f"{fault} in {_a(kind)}: after {step}"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
