"""The scribe writes what its pipe brings, whole frames only, until the pipe ends."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.passage import Passage, Seen, expand
from reknit.trace.records import Kind, Record
from reknit.trace.scribe import PAYLOAD_BYTES_MAX, Account, pack, serve
from reknit.trace.segments import node_directory, segments_of
from reknit.trace.store import read_trace

FLUSH = bytes(4)
EVENT = Event("t", b"xyz", {"n": 1, "f": 1.0}, (("k", "v"),), {"d": True}, 1, "text/plain", "b1/1", 9)
SEEN = [
    Record(1.0, "b1", Kind.SUBSCRIBED, client="c", pattern=Pattern("t/#")),
    Record(2.0, "b1", Kind.FORWARDED, peer="b2", event=EVENT, size=77),
    Record(3.0, "b1", Kind.REFUSED, peer="b3", detail="why"),
]


def served(root: Path, data: bytes) -> list[Account]:
    sink = io.BytesIO()
    serve(io.BytesIO(data), sink, root, "b1", 1000, 3600.0)
    return [msgspec.json.decode(line, type=Account) for line in sink.getvalue().splitlines()]


def test_all_fields_pass_through_the_pipe(tmp_path: Path) -> None:
    accounts = served(tmp_path, pack(SEEN))
    event = msgspec.structs.replace(EVENT, payload=b"")
    assert read_trace(tmp_path) == [SEEN[0], msgspec.structs.replace(SEEN[1], event=event), SEEN[2]]
    assert accounts == [Account(3, 0, "")]


def test_the_length_zero_writes_at_once(tmp_path: Path) -> None:
    accounts = served(tmp_path, pack(SEEN[:1]) + FLUSH + FLUSH + pack(SEEN[1:]))
    assert len(segments_of(node_directory(tmp_path, "b1"))) == 2
    assert accounts == [Account(1, 0, ""), Account(3, 0, "")]


def test_a_long_payload_is_left_out_but_its_size_is_not(tmp_path: Path) -> None:
    long = [
        Record(0.0, "b1", Kind.PUBLISHED, event=Event("t", bytes(size)))
        for size in (PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, 10**6)
    ]
    frame = pack(long)
    assert len(frame) < 2 * PAYLOAD_BYTES_MAX
    served(tmp_path, frame)
    sizes = pq.read_table(tmp_path)["payload_size"].to_pylist()
    assert sizes == [PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_MAX + 1, 10**6]


def test_passages_pass_through_the_pipe(tmp_path: Path) -> None:
    events = [Event("t", bytes(size), source="b1.1", seq=size) for size in (1, 2, 10**6)]
    whole = [msgspec.structs.replace(event, attributes={"n": 1}) for event in events]
    seen: list[Seen] = [
        Passage(1.0, "b1", "ann", events, [("bob",)] * 3, [], settled=True),
        SEEN[0],
        Passage(2.0, "b1", "ann", whole, [("bob",)], [("b2",), ("b2",)]),
    ]
    frame = pack(seen)
    assert len(frame) < 1000
    served(tmp_path, frame)
    expected = [msgspec.structs.replace(each, event=_empty(each.event)) for each in expand(seen)]
    assert read_trace(tmp_path) == expected
    assert pq.read_table(tmp_path)["payload_size"].to_pylist()[-1] == 10**6


def _empty(event: Event | None) -> Event | None:
    return event and msgspec.structs.replace(event, payload=b"")


WHOLE = pack(SEEN[:1]) + pack(SEEN[1:])


@given(st.integers(0, len(WHOLE)))
def test_half_a_frame_of_a_killed_node_is_left_out(tmp_path_factory: object, length: int) -> None:
    root = tmp_path_factory.mktemp("cut")  # type: ignore[attr-defined]
    (account,) = served(root, WHOLE[:length])
    expected = 0 if length < len(pack(SEEN[:1])) else 1 if length < len(WHOLE) else 3
    assert account == Account(expected, 0, "")
