"""What operators see of a broker."""

from __future__ import annotations

from reknit.core.io import Close
from tests.core.desk import Desk, pattern

B = pattern("b")


def test_a_table_is_plain_values_for_operators() -> None:
    desk = Desk("n")
    far = desk.linked("n", 1, pattern("a", "x > 1"))
    desk.client("ann", B)
    far.ack()
    table = desk.broker.table()
    assert table["entries"] == [
        {"kind": "broker", "hop": "n", "topic": "a", "selector": "x > 1"},
        {"kind": "client", "hop": "ann", "topic": "b", "selector": ""},
    ]
    assert table["neighbours"] == {"n": {"up": True, "outbox_bytes": 0, "dropped": 0}}
    assert (table["broker"], table["routing"], table["covering"]) == ("b", "subscription-forwarding", False)
    assert not desk.all(Close)
