"""``[communities]``: what cannot be is refused before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.live.communities import CommunitiesSection, check_communities
from reknit.live.errors import ConfigError


@pytest.mark.parametrize(
    ("section", "error"),
    [
        (CommunitiesSection(topics=("a/#",)), "filters only"),
        (CommunitiesSection(topics=("a",), membership="chance"), "it is one of"),
        (CommunitiesSection(topics=("a",), parents={"a": ("b",), "b": ("a",)}), "above itself"),
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
