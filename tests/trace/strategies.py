"""What a node may see, drawn at random: passages as a turn makes them, and records between them."""

from __future__ import annotations

from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.trace.passage import Passage
from reknit.trace.records import Kind, Record

names = st.sampled_from(["ann", "bob", "cay"])
hops = st.lists(names, unique=True, max_size=2).map(tuple)
topics = st.sampled_from(["a", "a/b", "ä"])


@st.composite
def events(draw: st.DrawFn, count: int, plain: bool, here: bool) -> list[Event]:
    """Numbered one after the other by one source, as all that is published ``here``, or as they come by."""
    rising = here or draw(st.booleans())
    made = []
    for at in range(count):
        event = Event(draw(topics), draw(st.binary(max_size=3)), qos=draw(st.integers(0, 1)), source="s.1", seq=9 + at)
        if not rising:
            event.source, event.seq = draw(st.sampled_from(["s.1", "t.1"])), draw(st.integers(1, 99))
        if not plain and draw(st.booleans()):
            event.attributes = {"n": at}
        made.append(event)
    return made


@st.composite
def passages(draw: st.DrawFn) -> Passage:
    count = draw(st.integers(1, 5))
    same = draw(st.booleans())
    clients, peers = (
        [draw(hops)] * count if same else draw(st.lists(hops, max_size=count)),
        draw(st.lists(hops, max_size=count)),
    )
    client = draw(st.none() | names)
    inside = draw(events(count, draw(st.booleans()), client is not None))
    return Passage(draw(st.floats(0, 9)), "b1", client, inside, clients, peers, settled=draw(st.booleans()))


records = st.builds(Record, st.floats(0, 9), st.just("b1"), st.sampled_from([Kind.CALM, Kind.ATTACHED]), client=names)
seen = st.lists(passages() | records, max_size=6)
