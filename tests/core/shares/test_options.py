"""The defaults are what the page of the configuration says, and strangers are refused."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.shares.options import ShareOptions


def test_a_broker_lingers_longer_than_a_line_takes_to_spread() -> None:
    assert ShareOptions().linger_s > 5.0
    assert ShareOptions().orphan_s < ShareOptions().linger_s


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"linger": 1}, ShareOptions)
