"""Patterns by signature, and since when each client wants them: true after whatever comes and goes."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.routing.signatures import Signatures
from reknit.core.routing.table import Table, broker, client
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern

A, B = Pattern.parse("a"), Pattern.parse("a", "x > 3")


def _table() -> tuple[Table, Signatures, Turn]:
    turn, table = Turn("b", False), Table()
    table.signatures = Signatures(turn)
    return table, table.signatures, turn


def test_an_epoch_begins_with_the_first_client_and_ends_with_the_last() -> None:
    table, signatures, turn = _table()
    turn.now = 1.0
    table.add(client("ann"), A)
    first = signatures.own[A.signature()]
    turn.now = 3.0
    table.add(client("ben"), A)
    table.remove(client("ann"), A)
    assert signatures.own == {A.signature(): first}
    assert signatures.age_s(A.signature()) == 2.0
    assert signatures.wanted_since("ben", A) == 3.0
    table.remove(client("ben"), A)
    assert signatures.own == {}
    assert signatures.age_s(A.signature()) == 0.0
    table.add(client("ann"), A)
    assert signatures.own[A.signature()] != first


def test_a_route_names_the_patterns_for_which_neighbours_want_the_event() -> None:
    table, _, _ = _table()
    table.add(broker("n"), A)
    table.add(broker("m"), A)
    table.add(client("ann"), B)
    assert table.route(Event("a", attributes={"x": 5})).signatures == (A.signature(),)
    table.add(broker("m"), B)
    assert set(table.route(Event("a", attributes={"x": 5})).signatures) == {A.signature(), B.signature()}
    assert table.route(Event("a", attributes={"x": 1})).signatures == (A.signature(),)
    assert table.brokers_for(A) == ["n", "m"]
    table.signatures = None
    assert Table().route(Event("a")).signatures == ()


hops = st.sampled_from([broker("n"), broker("m"), client("ann"), client("ben")])


@given(st.lists(st.tuples(st.booleans(), hops, st.sampled_from([A, B]))))
def test_the_lists_are_those_of_the_table(deeds: list[tuple[bool, tuple[str, str], Pattern]]) -> None:
    table, signatures, _ = _table()
    for comes, hop, pattern in deeds:
        (table.add if comes else table.remove)(hop, pattern)  # type: ignore[arg-type]
    held = {pattern.signature(): pattern for pattern in table.patterns()}
    assert signatures.patterns == held
    assert {pattern: signature for signature, pattern in held.items()} == signatures.of
    own = [each for each in table.patterns() if any(table.has(client(name), each) for name in ("ann", "ben"))]
    assert set(signatures.own) == {each.signature() for each in own}


def test_a_wish_that_has_come_from_elsewhere_is_as_old_as_it_was_there() -> None:
    table, signatures, turn = _table()
    turn.now = 5.0
    table.add(client("ann"), A)
    table.add(client("ben"), A)
    signatures.inherit("ann", A, 3.0, 3.0)
    signatures.inherit("ben", B, 4.0, 4.0)  # which he does not want
    assert (signatures.wanted_since("ann", A), signatures.wanted_since("ben", A)) == (2.0, 5.0)
    assert signatures.age_s(A.signature()) == 3.0
    signatures.inherit("ann", A, 1.0, 4.0)
    assert [signatures.wanted_since("ann", A, qos) for qos in (0, 1)] == [2.0, 1.0]


def test_a_word_of_its_age_that_was_long_under_way_makes_a_wish_no_younger() -> None:
    """It was said behind the moment at which the client was awaited here, whenever it comes."""
    table, signatures, turn = _table()
    turn.now = 5.0
    table.add(client("ann"), A)
    turn.now = 9.0
    signatures.inherit("ann", A, 3.0, 4.0)
    assert [signatures.wanted_since("ann", A, qos) for qos in (0, 1)] == [2.0, 1.0]
    assert signatures.age_s(A.signature()) == 8.0


def test_what_a_life_before_wanted_counts_for_what_it_has_written_down() -> None:
    table, signatures, turn = _table()
    turn.now = 5.0
    table.add(client("ann"), A)
    signatures.recall("ann", A, 2.0)
    assert [signatures.wanted_since("ann", A, qos) for qos in (0, 1, 2)] == [5.0, 2.0, 2.0]
    assert signatures.age_s(A.signature()) == 3.0
    signatures.recall("ann", A, math.inf)  # which is not known
    assert signatures.wanted_since("ann", A, 1) == 5.0
    table.remove(client("ann"), A)
    turn.now = 6.0
    table.add(client("ann"), A)
    assert signatures.wanted_since("ann", A, 1) == 6.0


def test_long_after_it_has_come_a_wish_is_as_old_as_its_coming() -> None:
    table, signatures, turn = _table()
    turn.now = 5.0
    table.add(client("ann"), A)
    signatures.inherit("ann", A, 3.0, 4.0)
    turn.now = 40.0
    signatures.settle("ben")
    assert signatures.wanted_since("ann", A) == 2.0
    signatures.settle("ann")
    assert [signatures.wanted_since("ann", A, qos) for qos in (0, 1)] == [5.0, 5.0]
