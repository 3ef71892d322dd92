from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.mqtt.fields import VARIABLE_MAX, Reader, binary_wire, text_wire, variable_wire
from reknit.mqtt.reasons import ProtocolError, Reason
from tests.mqtt.strategies import texts


def reader(data: bytes) -> Reader:
    return Reader(data, 0, len(data))


@given(st.integers(0, VARIABLE_MAX))
def test_a_variable_byte_integer_comes_back(value: int) -> None:
    assert reader(variable_wire(value)).variable() == value


@pytest.mark.parametrize(
    ("value", "wire"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16_383, "ff7f"), (16_384, "808001"), (268_435_455, "ffffff7f")],
)
def test_variable_byte_integers_of_the_standard(value: int, wire: str) -> None:
    assert variable_wire(value).hex() == wire


@pytest.mark.parametrize("value", [-1, VARIABLE_MAX + 1])
def test_what_does_not_fit_is_not_written(value: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        variable_wire(value)


@pytest.mark.parametrize("wire", ["80", "8000", "808000", "ffffffff01", "80808080"])
def test_bad_variable_byte_integers_are_malformed(wire: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        reader(bytes.fromhex(wire)).variable()
    assert caught.value.reason is Reason.MALFORMED_PACKET


@given(texts)
def test_a_text_comes_back(text: str) -> None:
    assert reader(text_wire(text)).text() == text


@pytest.mark.parametrize(
    "raw", [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"a\0b", b"\xf4\x90\x80\x80"], ids=lambda raw: raw.hex()
)
def test_bad_texts_are_malformed(raw: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        reader(binary_wire(raw)).text()
    assert caught.value.reason is Reason.MALFORMED_PACKET


def test_a_field_never_reads_beyond_its_end() -> None:
    for read in (Reader.byte, Reader.two, Reader.four, Reader.binary, Reader.variable):
        with pytest.raises(ProtocolError, match="ends within a field"):
            read(Reader(b"\0\0\0\0\0\0", 2, 2))


def test_texts_that_no_field_can_hold_are_not_written() -> None:
    with pytest.raises(ValueError, match="U\\+0000"):
        text_wire("a\0")
    with pytest.raises(ValueError, match="65535"):
        text_wire("x" * 65_536)
