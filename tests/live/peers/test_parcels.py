"""Parcels: no datagram is too long, what was cut comes together in any order, and nothing is held without a bound."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.live.peers.parcels import (
    ASSEMBLIES_MAX,
    ASSEMBLIES_PER_SENDER_MAX,
    ASSEMBLY_S_MAX,
    DATAGRAM_BYTES_MAX,
    FRAGMENTS_MAX,
    Assembler,
    BadParcel,
    Fragment,
    Seal,
    Stranger,
    cut,
    read_datagram,
    read_streamed,
    streamed,
)

SEALS = [Seal(), Seal(b"a secret of ours")]


@pytest.mark.parametrize("seal", SEALS, ids=["open", "sealed"])
@given(size=st.integers(0, FRAGMENTS_MAX * DATAGRAM_BYTES_MAX), order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_a_word_comes_out_as_it_went_in(seal: Seal, size: int, order: random.Random) -> None:
    word = order.randbytes(size)
    datagrams = cut(word, 7, seal)
    assert all(len(each) <= DATAGRAM_BYTES_MAX for each in datagrams)
    if not datagrams:  # then it was too long for fragments, and only then
        assert size > FRAGMENTS_MAX * (DATAGRAM_BYTES_MAX - 64)
        return
    order.shuffle(datagrams)
    assembler = Assembler()
    whole = []
    for datagram in datagrams:
        found = read_datagram(datagram, seal)
        got = assembler.add("p", found, 0.0) if isinstance(found, Fragment) else found
        whole += [] if got is None else [got]
    assert whole == [word]
    assert len(assembler) == 0


@given(data=st.binary(max_size=64))
def test_other_bytes_are_refused_or_some_word(data: bytes) -> None:
    for seal in SEALS:
        try:
            read_datagram(data, seal)
            read_streamed(data, seal)
        except BadParcel:
            pass


def test_who_does_not_know_the_secret_is_a_stranger() -> None:
    (datagram,) = cut(b"word", 1, Seal(b"another secret"))
    for wrong in (datagram, b"\0word", b""):
        with pytest.raises(Stranger):
            read_datagram(wrong, SEALS[1])
    with pytest.raises(Stranger):
        read_streamed(streamed(b"word", 7400, SEALS[0]), SEALS[1])
    assert read_streamed(streamed(b"word", 7400, SEALS[1]), SEALS[1]) == (7400, b"word")


@pytest.mark.parametrize(("place", "of"), [(0, 1), (2, 2), (0, FRAGMENTS_MAX + 1), (255, 255)])
def test_a_fragment_that_cannot_be_is_refused(place: int, of: int) -> None:
    with pytest.raises(BadParcel):
        read_datagram(b"\x01" + bytes(8) + bytes((place, of)) + b"x", SEALS[0])


def test_words_that_never_become_whole_are_given_up() -> None:
    assembler = Assembler()
    for number in range(3 * ASSEMBLIES_PER_SENDER_MAX):
        assembler.add("one", Fragment(number, 0, 2, b"x"), 0.0)
    assert len(assembler) == ASSEMBLIES_PER_SENDER_MAX
    for number in range(3 * ASSEMBLIES_MAX):
        assembler.add(f"p{number}", Fragment(1, 0, 2, b"x"), 0.0)
    assert len(assembler) == ASSEMBLIES_MAX
    assembler.add("late", Fragment(1, 0, 2, b"x"), ASSEMBLY_S_MAX + 1)
    assert len(assembler) == 1
    assert assembler.given_up == 3 * ASSEMBLIES_PER_SENDER_MAX + 3 * ASSEMBLIES_MAX


def test_fragments_that_contradict_each_other_make_no_word() -> None:
    assembler = Assembler()
    assert assembler.add("p", Fragment(1, 0, 2, b"a"), 0.0) is None
    assert assembler.add("p", Fragment(1, 1, 3, b"b"), 0.0) is None
    assert assembler.add("p", Fragment(1, 1, 2, b"b"), 0.0) == b"ab"
