"""What a campaign has gone through: which messages of which changes, and where brokers were when they crashed.

Each step of a change is a record of the trace; what is counted here is by kind of change, step and part. Beside what
was seen stands what there is to be seen (``expected``), so that a campaign can say what it has not covered.

Owns: the names of steps, and which there are. Must not know: how a schedule is drawn, or how it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from reknit.trace.records import Kind, Record

__all__ = [
    "NOTIFIED",
    "POINTS_OF_PLACES",
    "REPLACEMENTS",
    "changes",
    "crash_points",
    "expected",
    "expected_on_ring",
    "missing",
]

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
        *("open at the goal", "close(ab) at the goal", "close(ab) at the middle"),
        *("close(ba) at the goal", "close(ba) at the mover", "emptied at the middle", "emptied at the mover"),
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
_CRASHES = {
    "swap": (
        *(
            "start at the mover",
            "lock at the middle",
            "lock at the goal",
            "lockAck at the middle",
            "lockAck at the mover",
        ),
        *(
            "swap at the goal",
            "swap at the middle",
            "swap at the mover",
            "connect at the mover",
            "connectAck at the goal",
        ),
        *("open at the goal", "close(ab) at the goal", "end at the middle", "end at the mover"),
        *("without at the middle", "without at the mover"),
    ),
    "return": ("start at the one that is back", "inquire at the other"),
    "add": ("start at the new one",),
    "drain": (
        *(
            "start at the leaver",
            "draining at the heir",
            "welcome at the leaver",
            "offer at the heir",
            "taken at the leaver",
        ),
        *("opened at the leaver", "rest at the heir", "told at the heir", "withdraw at the heir"),
    ),
}


_PLACES = (
    *(f"{step}{AT_MANAGER}" for step in ("INIT", "OVERLAY", "PUBSUB", "FINISH", "over", "let go")),
    *("RCFG_INIT", "RCFG_OVERLAY", "RCFG_PUBSUB", "RCFG_PUBSUB 3.2", "RCFG_FINISH"),
    *("RCFG_FINISH heard of", "dismissed", "caught up"),
)
POINTS_OF_PLACES = tuple(step for step in _PLACES if not step.startswith(LAST_STEPS))
"""The steps of a change of places behind which a broker, or the manager, still takes part in it."""


def expected_on_ring() -> list[str]:
    """The same of brokers that are on a ring."""
    crashes = [_crash("places", step) for step in POINTS_OF_PLACES]
    return [*(_step("places", step) for step in _PLACES), *crashes]


def expected(crashing: bool) -> list[str]:
    """The names of all steps of changes that there are, and, where brokers crash, of all points at which they may."""
    steps = {**_STEPS, **{kind: tuple(_said(kind)) for kind in REPLACEMENTS}}
    names = [_step(kind, step) for kind, some in steps.items() for step in some]
    if crashing:
        names += [_step(kind, step) for kind, some in _STEPS_OF_CRASHES.items() for step in some]
        points = {**_CRASHES, **{kind: tuple(crash_points(kind)) for kind in REPLACEMENTS}}
        names += [_crash(kind, step) for kind, some in points.items() for step in some]
    return names


def missing(coverage: Mapping[str, int], names: Iterable[str]) -> list[str]:
    """Of what is expected, what was not seen."""
    return [name for name in names if not coverage.get(name)]


# --- what was seen


def changes(records: Iterable[Record], notified: bool = False) -> Counter[str]:
    """Which steps of changes were taken, in which part; and in which step a broker was when it crashed."""
    found: Counter[str] = Counter()
    last: dict[tuple[str, str], str] = {}  # by node that takes part in a change, and its kind: its last step
    for record in records:
        if record.kind is Kind.CHANGE:
            kind, _, step = record.detail.partition(": ")
            kind = NOTIFIED if notified and kind == "deferred" else kind
            step = next((each for each in VARYING if kind == "places" and step.startswith(each)), step)
            found[_step(kind, step)] += 1
            if step.startswith(ASIDES):
                continue
            if kind in REPLACEMENTS:
                _replace(last, (record.node, kind), step)
                continue
            part = AT_MANAGER if step.endswith(AT_MANAGER) else ""
            last[record.node, kind + part] = step
            if step.startswith(LAST_STEPS):
                del last[record.node, kind + part]
        elif record.kind is Kind.CRASHED:
            for node, kind in [each for each in last if each[0] == record.node]:
                found[_crash(kind.removesuffix(AT_MANAGER), last.pop((node, kind)))] += 1
    return found


def _replace(last: dict[tuple[str, str], str], key: tuple[str, str], step: str) -> None:
    """What a broker hears of a replacement that it is not locked for changes nothing."""
    if step.startswith("end at"):
        last.pop(key, None)
    elif key in last or step.startswith("lock at"):
        last[key] = step


def _step(kind: str, step: str) -> str:
    return f"step of {_a(kind)}: {step}"


def _crash(kind: str, step: str) -> str:
    return f"crash in {_a(kind)}: after {step}"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
