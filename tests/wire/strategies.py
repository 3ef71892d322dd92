"""Every kind of frame and message, well formed; and one example of each for exhaustive damage."""

from __future__ import annotations

from hypothesis import strategies as st

from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Event
from reknit.model.pattern import Pattern
from reknit.wire import messages as wire
from reknit.wire.marks import write_marks
from reknit.wire.placement import Interest, Lasts, Passed
from reknit.wire.planes import Dismiss, Places, Report, Seats, Stage, Staged, Step
from reknit.wire.ring import Poll

__all__ = ["DIRECTS", "EXAMPLES", "directs", "frames", "messages"]

numbers = st.integers(0, 2**63 - 1)
names = st.text("ab1.é", min_size=1, max_size=6)
texts = st.text(max_size=12)
waves = st.tuples(names, numbers)
topics = st.lists(st.text("abü ", max_size=3), min_size=1, max_size=4).map("/".join).filter(bool)
patterns = st.builds(
    Pattern.parse,
    st.sampled_from(["a", "a/+", "#", "ü/b/#"]),
    st.sampled_from(["", "x > 3", "NOT x IN (1, 2)", "c LIKE 'a%' AND y BETWEEN 0.5 AND 2"]),
)
scalars = st.one_of(texts, st.integers(INTEGER_MIN, INTEGER_MAX), st.floats(allow_nan=False), st.booleans())
attributes = st.dictionaries(names, scalars, max_size=3)
events = st.builds(
    Event,
    topic=topics,
    payload=st.binary(max_size=20),
    attributes=attributes,
    properties=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    derived=attributes,
    qos=st.integers(0, 2),
    content_type=texts,
    source=names,
    seq=st.integers(1, INTEGER_MAX),
    number=st.none() | numbers,
    marks=st.binary(max_size=20)
    | st.builds(
        lambda *said: write_marks(*said)[1],
        st.lists(st.tuples(numbers, st.integers(1, INTEGER_MAX)), max_size=3),
        st.lists(names, max_size=3).map(tuple),
        texts,
        numbers,
    ),
)
askers = st.builds(wire.Asker, names, texts, st.integers(1, INTEGER_MAX))
ages = st.floats(0, 1e9)
runs = st.sampled_from([[], [(1, 1)], [(3, 9), (11, 2**40)]])
lost = st.lists(st.tuples(names, runs), max_size=3)
hops = st.integers(0, 255)
wishes = st.lists(patterns, max_size=4)
lasts = st.dictionaries(names, numbers, max_size=3)
entries = st.lists(st.tuples(names, wishes), max_size=3)
stamps = st.just([]) | st.lists(numbers, min_size=9, max_size=9)
changes = st.builds(wire.Change, names, names, st.just(["b1", "b2", "b3"]), st.integers(0, 1))
messages: st.SearchStrategy[wire.Message] = st.one_of(
    st.builds(wire.Events, st.lists(events, max_size=3)),
    st.builds(wire.Sub, wishes),
    st.builds(wire.Unsub, wishes),
    st.builds(wire.Known, names, wishes, wishes),
    st.builds(wire.Snapshot, entries, st.booleans()),
    st.builds(wire.Leave),
    st.builds(wire.Seek, waves, names, st.lists(names, max_size=4)),
    st.builds(wire.Sought, waves, st.lists(names, max_size=4), texts),
    st.builds(wire.Release, waves),
    st.builds(wire.Steered, numbers, st.sampled_from(wire.Mode), stamps, st.lists(events, max_size=3)),
    st.builds(wire.Lock, waves, names, names, names),
    st.builds(wire.LockNack, waves, texts, st.booleans()),
    st.builds(wire.Side, waves, st.booleans(), entries),
    st.builds(wire.Close, waves, st.booleans(), st.booleans()),
    *(st.builds(kind, waves, st.booleans()) for kind in (wire.LockAck, wire.Swap, wire.Open)),
    *(st.builds(kind, waves) for kind in (wire.Unlock, wire.Seated, wire.Ask)),
    st.builds(wire.Resent),
    st.builds(wire.Inquire, waves, names, names, numbers),
    st.builds(wire.Mark, waves, names, numbers),
    st.builds(wire.Around, st.lists(st.tuples(texts, texts), max_size=4)),
    st.builds(wire.Apart, texts),
    st.builds(wire.Prepare, changes, names, st.booleans()),
    st.builds(wire.Prepared, names, texts, st.booleans()),
    st.builds(wire.Commit, changes),
    st.builds(wire.Rec, changes, wishes, wishes, st.binary(max_size=20), st.booleans()),
    st.builds(wire.Flush, changes),
    st.builds(wire.Held, names, wishes, st.booleans()),
    *(st.builds(kind, names) for kind in (wire.Abort, wire.Ctrl, wire.AskHeld, wire.Done)),
    st.builds(wire.Draining, st.booleans(), names),
    st.builds(wire.Welcome, texts, names),
    st.builds(wire.Offer, texts, numbers, numbers, wishes, st.booleans()),
    st.builds(wire.Opened, texts, numbers, texts, st.booleans()),
    st.builds(wire.Rest, texts, numbers, st.binary(max_size=40), st.booleans(), lasts),
    st.builds(wire.Taken, texts, numbers),
    st.builds(wire.Told, texts, numbers),
    st.builds(wire.Withdraw, texts, numbers),
    st.builds(
        wire.Silent,
        names,
        st.lists(st.tuples(numbers, st.integers(1, INTEGER_MAX)), max_size=3),
        hops,
        st.just(("b1",)),
        texts,
    ),
    st.builds(wire.Keeps, askers, numbers, lost, hops),
    st.builds(wire.Misses, askers, st.sampled_from(wire.Manner), numbers, ages, lost, hops),
    st.builds(wire.MissesOf, askers, names, st.lists(st.tuples(numbers, ages, runs)), st.lists(names), texts, numbers),
)
directs: st.SearchStrategy[wire.Direct] = st.one_of(
    st.builds(wire.MissesOf, askers, names, st.lists(st.tuples(numbers, ages, runs)), st.lists(names), texts, numbers),
    st.builds(wire.Wants, askers, numbers, ages, lost),
    st.lists(st.tuples(ages, events), max_size=3).flatmap(
        lambda pairs: st.builds(
            wire.Repair, names, numbers, st.just([age for age, _ in pairs]), st.just([each for _, each in pairs])
        )
    ),
)
frames: st.SearchStrategy[wire.Frame] = st.one_of(
    st.builds(
        wire.Hello,
        numbers,
        texts,
        names,
        names,
        numbers,
        numbers,
        numbers,
        st.booleans(),
        st.none() | waves,
        st.booleans(),
    ),
    st.builds(wire.Data, numbers, numbers, numbers, numbers, st.lists(messages, max_size=4)),
    st.builds(wire.Ack, numbers, numbers, numbers),
    st.builds(wire.Refuse, texts, st.booleans(), st.booleans(), st.lists(names, max_size=3)),
    st.builds(wire.Farewell, texts),
    st.builds(wire.Loose, numbers, st.lists(messages, max_size=4)),
)

_A, _B = Pattern.parse("a/+", "x > 3"), Pattern.parse("b/#")
_CHANGE = wire.Change("b1.1:1", "path", ["b1", "b2", "b3", "b4"], 1)
_EVENT = Event("a/b", b"p", {"x": 4, "f": 1.5}, (("k", "v"),), {"d": True}, 1, "text/plain", "b1.1", 7)
_MARKS = write_marks([(5, 3), (6, 1)], ("b1", "b2"), "host:1")[1]
_MARKED = Event("a", source="b1.1", seq=9, number=3, marks=_MARKS)
_ASKER = wire.Asker("b4", "host:4", 2**62)
_LOST = [("b1.1", [(1, 1), (3, 9)]), ("b2.1", [(7, 7)])]
MESSAGES: list[wire.Message] = [
    wire.Events([_EVENT, Event("b", source="b1.1", seq=8)]),
    wire.Sub([_A, _B]),
    wire.Unsub([_B]),
    wire.Known("b3", [_A], [_B]),
    wire.Snapshot([("b3", [_A]), ("", [_B])], False),
    wire.Snapshot([], True),
    wire.Leave(),
    wire.Leave(["b3"]),
    wire.Leave([], replaced=True),
    wire.Seek(("b1", 3), "b9", ["b1", "b2"]),
    wire.Sought(("b1", 3), ["b1", "b2", "b9"], ""),
    wire.Sought(("b1", 3), [], "busy"),
    wire.Release(("b1", 3)),
    wire.Steered(2**48, wire.Mode.FLOOD, [0, 1, 2, 3, 4, 5, 6, 7, 8], [_EVENT]),
    wire.Steered(2**48, wire.Mode.VIA, [], [_EVENT]),
    wire.Lock(("b1", 2**48), "b2", "b3", "host:1"),
    wire.LockAck(("b1", 2**48), False),
    wire.LockNack(("b1", 2**48), "busy", True),
    wire.Unlock(("b1", 2**48)),
    wire.Side(("b1", 2**48), True, [("b3", [_A]), ("", [_B])]),
    wire.Swap(("b1", 2**48), True),
    wire.Open(("b1", 2**48), False),
    wire.Close(("b1", 2**48), True, False),
    wire.Seated(("b1", 2**48)),
    wire.Ask(("b1", 2**48), True),
    wire.Resent(),
    wire.Inquire(("b1", 2**48), "b1", "b2", 3),
    wire.Mark(("b1", 2**48), "b1", 3, 2),
    wire.Prepare(_CHANGE, "host:3", False),
    wire.Prepared("b1.1:1", "busy", True),
    wire.Abort("b1.1:1"),
    wire.Commit(_CHANGE),
    wire.Rec(_CHANGE, [_A], [_B], b"", True),
    wire.Rec(_CHANGE, [], [], b"0123456789abcdef", True),
    wire.Ctrl("b1.1:1"),
    wire.Flush(_CHANGE),
    wire.AskHeld("b1.1:1"),
    wire.Held("b1.1:1", [_A], True),
    wire.Done("b1.1:1"),
    wire.Around([("b2", "127.0.0.1:7002"), ("b3", "")]),
    wire.Apart("b2"),
    wire.Draining(True),
    wire.Welcome("", "host:1883"),
    wire.Offer("ann", 1, 0, [_A], True),
    wire.Opened("ann", 1, "", False),
    wire.Rest("ann", 1, b"", False, {"b1.1": 7}, [("s.1", 3)]),
    wire.Rest("ann", 1, b"", False, {}, [], {"s.1": [(1, 4)]}, [(5, 1.5, 2.5)], [("s.1", 5, 9, [(2, 3)])]),
    wire.Rest("ann", 1, b"state", True),
    wire.Taken("ann", 1),
    wire.Told("ann", 1),
    wire.Told("ann", 1, [("s.1", 5, 9, [(2, 3)])]),
    wire.Withdraw("ann", 1),
    wire.Lines([wire.Line("kind", "name", b"value", 2**41, "b1.1")]),
    wire.Digests([0, 2**64 - 1]),
    wire.Events([_MARKED]),
    wire.Silent("b1.1", [(5, 3), (6, 1)], 2),
    wire.Bequest([0.5, 0.0], [_MARKED, _EVENT]),
    wire.Keeps(_ASKER, 5, _LOST, 2),
    wire.Misses(_ASKER, wire.Manner.SUBSCRIBERS, 5, 1.5, _LOST, 2),
    wire.MissesOf(_ASKER, "b1.1", [(5, 1.5, [(1, 1), (3, 9)])], ["b2", "b1"], "host:1"),
    wire.Ringed(1, 2, 2**64 - 1, Poll((7, "b1", "host:1"))),
    wire.Up(1, [7, 8], [_EVENT, _MARKED], [0, 0]),
    wire.Down(1, [], [_EVENT], [0]),
    Stage(2, 1, Step.INIT, "b1", [((7, "b1", "host:1"), 8)]),
    Staged(2, Step.INIT, "because"),
    Dismiss(2, "because"),
    Places(2, [((7, "b1", "host:1"), 8)]),
    Seats(2, [("a", 1, -1, 7)], True),
    Report(2, (7, "b1", "b1"), ["a", "b"], [("a", 3)], 1),
    Interest("0", (7, "b1", "b1"), ["a", "b"], 3, 15.0, True, 1),
    Lasts("c1", 5, [("b1.1", "a", 7)]),
    Passed("c1", 5, [_EVENT], [0], True),
]
DIRECTS: list[wire.Direct] = [
    wire.MissesOf(_ASKER, "b1.1", [(5, 1.5, [(1, 1), (3, 9)])], ["b1"], "host:1"),
    wire.Wants(_ASKER, 5, 1.5, _LOST),
    wire.Repair("b2", 2**62, [0.5, 0.0], [_MARKED, _EVENT]),
    wire.Repair("b2", 2**62, [], [], [(5, [(1, 1), (3, 9)])], [(6, [(2, 2)])], [(5, [(10, 11)])]),
]
EXAMPLES: list[wire.Frame] = [
    wire.Hello(1, "subscription-forwarding", "b1", "host:1", 1, 2**47, 3, True, None),
    wire.Hello(1, "global-table", "b1", "", 1, 0, 0, False, ("b1", 3)),
    wire.Hello(1, "global-table", "b1", "", 1, 0, 0, False, ("b1", 3), True),
    *(wire.Data(2**47, 5, 4, 3, [message]) for message in MESSAGES),
    wire.Data(1, 1, 0, 0, MESSAGES),
    wire.Ack(2**47, 5, 4),
    wire.Refuse("because", True, False),
    wire.Farewell("going down"),
    wire.Loose(2**47, [wire.Events([_MARKED])]),
]
