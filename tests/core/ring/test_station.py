from __future__ import annotations

import msgspec

from reknit.core.io import Due
from reknit.core.ring.options import RingOptions
from reknit.model.ring import ring_id
from reknit.trace.records import Kind
from reknit.wire.ring import Poll, Ringed
from tests.core.ring.circles import Ring, grown


def test_a_broker_that_comes_back_finds_the_others_by_what_it_remembers() -> None:
    ring = grown(3)
    assert set(ring.nodes["b1"].links) == {"b2", "b3"}  # though nobody has ever told it of them
    ring.crash("b1")
    ring.run(5.0)
    ring.start("b1")
    ring.run(12.0)
    shown = ring.broker("b1").ring.shown()
    assert (shown["joined"], len(shown["behind"]), shown["version"]) == (True, 2, 1)


def test_ids_may_be_given_and_two_that_have_one_are_told_so() -> None:
    ring = grown(2)
    mine = ring.broker("b2").ring.me[0]
    ring.options = msgspec.structs.replace(ring.options, ring=RingOptions(id=mine))
    ring.come("b3", "b1")
    ring.run(5.0)
    assert ring.broker("b3").ring.shown()["refused"] == f"b2 has the ring id {mine} already"
    refused = [record for record in ring.records if record.kind is Kind.REFUSED]
    assert [(record.node, record.detail) for record in refused] == [("b3", f"b2 has the ring id {mine} already")]


def test_a_place_is_kept_over_lives_and_what_is_no_note_is_none() -> None:
    ring = Ring()
    ring.options = msgspec.structs.replace(ring.options, ring=RingOptions(id=77))
    ring.come("b1")
    ring.run(1.0)
    ring.crash("b1")
    ring.options = msgspec.structs.replace(ring.options, ring=RingOptions())
    ring.start("b1")
    ring.run(1.0)
    assert ring.broker("b1").ring.me[0] == 77
    ring.crash("b1")
    ring.nodes["b1"].notes = "what a broker on a tree has left"
    ring.start("b1")
    ring.run(1.0)
    assert ring.broker("b1").ring.me[0] == ring_id("b1")


def test_a_word_in_a_version_that_nobody_knows_is_counted() -> None:
    ring = grown(2)
    ring.broker("b1").ring.peers.say("b2", "b2", Ringed(7, 1, 1, Poll((1, "b1", "b1"))))
    ring.give("b1", Due())
    ring.run(1.0)
    assert ring.broker("b2").ring.unknown == 1
