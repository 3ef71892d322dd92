"""Parameters: for every topic, or for one."""

from __future__ import annotations

from math import nan
from random import Random
from typing import Any

import pytest

from reknit.community.options import BadOption, PeerOptions, ScampOptions, TopicOptions
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


def test_a_few_forwarders_or_none_can_be() -> None:
    for topic in (TopicOptions(g=0.0), TopicOptions(c=-2.0), TopicOptions(z=64, a=64.0, tau=0, p_sel=0.0)):
        Peer("me", PeerOptions(topic=topic), Random(1))
