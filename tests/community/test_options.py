"""Parameters: for every topic, or for one."""

from __future__ import annotations

from reknit.community.options import PeerOptions, TopicOptions


def test_a_topic_has_its_own_parameters_or_those_of_all() -> None:
    options = PeerOptions(topic=TopicOptions(c=1.0), topics={"soccer": TopicOptions(c=7.0)})
    assert (options.of("soccer").c, options.of("tennis").c) == (7.0, 1.0)


def test_tau_is_one_less_than_z_unless_it_is_said() -> None:
    assert TopicOptions(z=4).alive_min == 3
    assert TopicOptions(z=4, tau=1).alive_min == 1
