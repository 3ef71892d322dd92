"""The place of a peer in the tree: whoever is known is where it belongs, once, and somebody is nearer to each key."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from reknit.community.grid.trie import Trie, key_of, other_bit
from reknit.community.options import GridOptions
from reknit.wire.peers import BITS_MAX

OPTIONS = GridOptions(references_max=2, replicas_max=3, replicas_min=2, path_bits_max=4)


def a_trie(path: str = "") -> Trie:
    trie = Trie("me", OPTIONS, Random(1))
    for bit in path:
        trie.grow(bit)
    return trie


def test_keys_are_bits_and_always_the_same() -> None:
    assert key_of("soccer") == key_of("soccer") != key_of("soccer/italy")
    assert len(key_of("#")) == BITS_MAX
    assert set(key_of("x")) <= {"0", "1"}
    assert other_bit("0") == "1"


@given(path=st.text("01", max_size=6), others=st.lists(st.tuples(st.sampled_from("abcdef"), st.text("01", max_size=6))))
def test_whoever_is_known_is_where_it_belongs(path: str, others: list[tuple[str, str]]) -> None:
    trie = a_trie(path)
    for number, (peer, its) in enumerate([*others, ("me", path)]):
        trie.note(peer, its, hearsay=number % 3 == 0)
    assert len(trie.known()) == len(set(trie.known()))
    assert not trie.knows("me")
    assert len(trie.replicas) <= OPTIONS.replicas_max
    for level, peers in enumerate(trie.references):
        assert len(peers) <= OPTIONS.references_max
        for its in peers.values():
            assert its[:level] == path[:level]
            assert its[level] == other_bit(path[level])


def test_what_a_peer_has_said_itself_counts_more_than_hearsay() -> None:
    trie = a_trie("00")
    trie.note("p", "1")
    trie.note("p", "01", hearsay=True)
    assert trie.references == [{"p": "1"}, {}]
    trie.note("p", "01")
    assert trie.references == [{}, {"p": "01"}]
    trie.note("p", "00")
    assert (trie.known(), trie.replicas) == (["p"], {"p": None})


def test_a_search_goes_to_somebody_nearer() -> None:
    trie = a_trie("00")
    trie.note("far", "1")
    trie.note("near", "01")
    assert trie.nearer("10" + "0" * 30) == "far"
    assert trie.nearer("01" + "0" * 30) == "near"
    assert trie.answers_for("00" + "1" * 30)
    trie.drop("near")
    assert trie.nearer("01" + "0" * 30) is None


def test_a_path_grows_where_many_share_it_and_shrinks_where_nobody_is_left() -> None:
    trie = a_trie()
    for number in range(3):
        assert not trie.is_crowded()
        trie.note(f"p{number}", "")
    assert trie.is_crowded()
    trie.grow("1")
    assert not trie.is_crowded()
    trie.note("q", "0")
    assert not trie.shrink()
    trie.drop("q")
    assert trie.shrink()
    assert (trie.path, trie.references) == ("", [])
    assert not a_trie("0101").is_crowded()
