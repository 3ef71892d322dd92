"""Who is spoken with: brokers of the same version, that route alike, are who they say, and see the link as we do."""

from __future__ import annotations

import msgspec
import pytest

from reknit.core.links.greeting import objection
from reknit.core.links.options import LinkOptions
from reknit.wire.codec import VERSION
from reknit.wire.messages import Hello

GOOD = Hello(VERSION, "flooding", "n", "n:1", 1, 0, 0, True, None)


@pytest.mark.parametrize(
    ("fields", "names", "why"),
    [
        ({}, None, ""),
        ({}, ("n", "m"), ""),
        ({"version": VERSION - 1}, None, f"speaks version {VERSION - 1}, not {VERSION}"),
        ({"dialect": "global-table"}, None, "routes by global-table, not by flooding"),
        ({"name": ""}, None, "a greeting without a name"),
        ({}, ("m",), "the certificate names m, not n"),
        ({}, (), "the certificate names nobody, not n"),
        ({"loose": True}, None, "takes the link for datagrams, not for a stream"),
    ],
)
def test_what_is_wrong_with_a_greeting_is_said(fields: dict[str, object], names: tuple[str, ...], why: str) -> None:
    assert objection(msgspec.structs.replace(GOOD, **fields), "flooding", LinkOptions(), names) == why


def test_each_link_has_a_kind_of_its_own() -> None:
    options = LinkOptions(loose=True, retransmit_s=0.1, kinds={"n": "stream"})
    assert objection(GOOD, "flooding", options, None) == ""
    other = msgspec.structs.replace(GOOD, name="m")
    assert objection(other, "flooding", options, None) == "takes the link for a stream, not for datagrams"
    assert objection(msgspec.structs.replace(other, loose=True), "flooding", options, None) == ""
