"""``[communities]``: what cannot be is refused before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.live.communities import CommunitiesSection, check_communities, make_peer
from reknit.live.errors import ConfigError


@pytest.mark.parametrize(
    ("section", "error"),
    [
        (CommunitiesSection(topics=("a/#",)), "filters only"),
        (CommunitiesSection(topics=("a",), membership="chance"), "it is one of"),
        (CommunitiesSection(topics=("a",), parents={"a": ("b",), "b": ("a",)}), "above itself"),
        (CommunitiesSection(topics=("a",), a=4.0), "a: it is more than 0, and z at most"),
        (CommunitiesSection(topics=("a",), z=0), "z: it is from 1 to 64"),
        (CommunitiesSection(topics=("a",), brokers="two words"), "one word"),
        (CommunitiesSection(topics=("a",), brokers="x", peers="x"), "the same name"),
        (CommunitiesSection(topics=("a",), contacts=("nobody",)), "no HOST:PORT"),
        (CommunitiesSection(topics=("a",), listen="192.0.2.7:7400"), "need a secret"),
        (CommunitiesSection(topics=("a",), listen="0.0.0.0:7400", secret_file="/nowhere"), "No such file"),
    ],
)
def test_what_cannot_be_is_refused(section: CommunitiesSection, error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        check_communities(section)


def test_what_can_be_is_not(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("what we share\n")
    check_communities(CommunitiesSection())
    check_communities(CommunitiesSection(topics=("a", "#"), contacts=("127.0.0.1:7400",), membership="structured"))
    check_communities(CommunitiesSection(topics=("a",), listen="192.0.2.7:7400", secret_file=str(secret)))


def test_its_peer_has_the_parameters_that_are_said() -> None:
    made = make_peer(CommunitiesSection(topics=("a",), c=2.0, g=9.0, a=2.0, z=5))
    topic = made._options.topic
    assert (topic.c, topic.g, topic.a, topic.z) == (2.0, 9.0, 2.0, 5)
