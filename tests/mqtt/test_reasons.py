from __future__ import annotations

import pytest

from reknit.mqtt.reasons import ALLOWED, ProtocolError, Reason, return_code


def test_every_allowed_code_has_a_name() -> None:
    assert all(Reason(code) for codes in ALLOWED.values() for code in codes if code)


def test_every_name_is_allowed_somewhere() -> None:
    used = {code for codes in ALLOWED.values() for code in codes}
    assert {int(reason) for reason in Reason} == used


def test_an_error_says_why() -> None:
    assert str(ProtocolError(Reason.TOPIC_INVALID, "no topic")) == "no topic (0x90)"


@pytest.mark.parametrize(
    ("reason", "code"),
    [(Reason.CLIENT_ID_NOT_VALID, 2), (Reason.QUOTA_EXCEEDED, 3), (Reason.MALFORMED_PACKET, None)],
)
def test_return_codes_of_3_1_1(reason: Reason, code: int | None) -> None:
    assert return_code(reason) == code
