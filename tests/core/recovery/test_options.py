"""Which algorithms are in use, and where recovery cannot be."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.broker import BrokerOptions
from reknit.core.recovery.options import RecoveryOptions


def test_the_algorithms_in_use_are_named_once() -> None:
    assert RecoveryOptions().names == []
    assert RecoveryOptions(algorithm="push").names == ["push"]
    assert RecoveryOptions(algorithm="push", of={"a": "none", "b": "combined", "c": "push"}).names == [
        "push",
        "combined",
    ]
    assert RecoveryOptions(of={"a": "push"}).names == ["push"]


@pytest.mark.parametrize("options", [{"covering": True}, {"routing": "flooding"}])
def test_where_tables_hide_patterns_nothing_can_be_numbered(options: dict[str, object]) -> None:
    msgspec.convert(options, BrokerOptions)
    with pytest.raises(msgspec.ValidationError, match="recovery needs tables that hold every pattern"):
        msgspec.convert({**options, "recovery": {"algorithm": "push"}}, BrokerOptions)


@pytest.mark.parametrize("wrong", [{"gossip_s": 0}, {"forward": 1.1}, {"fanout": 0}, {"algorithm": "pray"}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, RecoveryOptions)
