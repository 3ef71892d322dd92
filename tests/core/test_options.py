"""Options as configuration has them: nested, and nothing that is not known."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.options import BrokerOptions


def test_the_layers_options_are_set_through_the_brokers() -> None:
    given = {"links": {"dial_s_max": 7.0}, "overlay": {"lease_s": 8.0}, "changes": {"defer_s": 9.0}}
    options = msgspec.convert(given, BrokerOptions)
    assert (options.links.dial_s_max, options.overlay.lease_s, options.changes.defer_s) == (7.0, 8.0, 9.0)
    assert options.overlay.close_s_max == BrokerOptions().overlay.close_s_max


@pytest.mark.parametrize(
    "given",
    [
        {"links": {"nonsense": 1}},
        {"overlay": {"defer_s": 1.0}},
        {"changes": {"lease_s": 1.0}},
        {"routing": "pigeons"},
    ],
)
def test_an_option_that_is_not_known_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(given, BrokerOptions)
