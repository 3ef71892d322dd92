"""Parameters: for every topic, or for one."""

from __future__ import annotations

from math import nan
from random import Random
from typing import Any

import pytest

from reknit.community.options import (
    BadOption,
    CourierOptions,
    GridOptions,
    PeerOptions,
    ScampOptions,
    SuperOptions,
    TopicOptions,
    check_options,
)
from reknit.community.peer import Peer


def test_a_topic_has_its_own_parameters_or_those_of_all() -> None:
    options = PeerOptions(topic=TopicOptions(c=1.0), topics={"soccer": TopicOptions(c=7.0)})
    assert (options.of("soccer").c, options.of("tennis").c) == (7.0, 1.0)


def test_tau_is_one_less_than_z_unless_it_is_said() -> None:
    assert TopicOptions(z=4).alive_min == 3
    assert TopicOptions(z=4, tau=1).alive_min == 1


@pytest.mark.parametrize(
    ("terms", "error"),
    [
        ({"z": 0}, "z: it is from 1 to 64"),
        ({"z": 65}, "z: it is from 1 to 64"),
        ({"a": 4.0}, "a: it is more than 0, and z at most"),
        ({"c": nan}, "c: it is a number"),
        ({"g": -1.0}, "g: it is 0 or more"),
        ({"tau": 4}, "tau: it is from 0 to z"),
        ({"p_sel": 1.5}, "p_sel: it is a probability"),
        ({"scamp": ScampOptions(lease_s=0.0)}, "scamp.lease_s: it is more than 0, and 604800 at most"),
        ({"scamp": ScampOptions(heartbeat_s=nan)}, "scamp.heartbeat_s: it is more than 0"),
        ({"scamp": ScampOptions(isolation_beats=0)}, "scamp.isolation_beats: it is 1 or more"),
        ({"scamp": ScampOptions(epoch_beats=3)}, "scamp.epoch_beats: it is 4 or more"),
        ({"scamp": ScampOptions(reunion_s=-1.0)}, "scamp.reunion_s: it is 0 or more"),
        ({"supers": SuperOptions(check_s=-1.0)}, "supers.check_s: it is 0 or more"),
        ({"supers": SuperOptions(answer_s=0.0)}, "supers.answer_s: it is more than 0"),
        ({"supers": SuperOptions(search_s=nan)}, "supers.search_s: it is 0 or more"),
        ({"supers": SuperOptions(search_fan=0)}, "supers.search_fan: it is 1 or more"),
    ],
)
def test_what_no_peer_can_have_is_refused(terms: dict[str, Any], error: str) -> None:
    for options in (
        PeerOptions(topic=TopicOptions(**terms)),
        PeerOptions(topics={"soccer": TopicOptions(**terms)}),
    ):
        with pytest.raises(BadOption) as refused:
            Peer("me", options, Random(1))
        assert str(refused.value).replace(" of soccer", "") == error


REFRESH = "grid.refresh_s: it is more than 0, and half of lease_s at most"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            PeerOptions(grid=GridOptions(refresh_s=0.0)),
            REFRESH,
        ),
        (
            PeerOptions(grid=GridOptions(refresh_s=40.0)),
            REFRESH,
        ),
        (PeerOptions(grid=GridOptions(meet_s=nan)), "grid.meet_s: it is more than 0"),
        (PeerOptions(grid=GridOptions(meet_s_max=0.1)), "grid.meet_s_max: it is meet_s or more"),
        (PeerOptions(grid=GridOptions(path_bits_max=33)), "grid.path_bits_max: it is from 0 to 32"),
        (PeerOptions(grid=GridOptions(references_max=9)), "grid.references_max: it is from 1 to 8"),
        (
            PeerOptions(grid=GridOptions(replicas_min=3, replicas_max=2)),
            "grid.replicas_max: it is replicas_min or more",
        ),
        (PeerOptions(grid=GridOptions(entries_max=0)), "grid.entries_max: it is 1 or more"),
        (PeerOptions(courier=CourierOptions(retry_s=0.0)), "courier.retry_s: it is more than 0"),
        (PeerOptions(courier=CourierOptions(backoff=0.5)), "courier.backoff: it is 1 or more"),
        (PeerOptions(absent_s=-1.0), "absent_s: it is 0 or more"),
        (PeerOptions(communities_max=0), "communities_max: it is 1 or more"),
    ],
)
def test_so_is_what_no_peer_can_have_whatever_its_topics(options: PeerOptions, error: str) -> None:
    with pytest.raises(BadOption) as refused:
        check_options(options)
    assert str(refused.value) == error


def test_a_few_forwarders_or_none_can_be() -> None:
    for topic in (TopicOptions(g=0.0), TopicOptions(c=-2.0), TopicOptions(z=64, a=64.0, tau=0, p_sel=0.0)):
        Peer("me", PeerOptions(topic=topic), Random(1))
