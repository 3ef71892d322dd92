"""The guard: who needs a name, whose password is right, and which rules hold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reknit.live import guard as guarding
from reknit.live.errors import ConfigError
from reknit.live.guard import AccessSection, Guard, read_rules
from reknit.live.passwords import set_password

WAITING = 5
"""Fewer than there may be: each check takes its time on purpose."""

RULES = """
[[rule]]
user = "ann"
publish = ["a/#"]

[[rule]]
subscribe = ["a/#"]
where = "n > 3"
"""


@pytest.mark.parametrize(
    ("host", "nameless"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("", False),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("nonsense", False),
    ],
)
def test_by_default_only_this_machine_may_come_without_a_name(host: str, nameless: bool) -> None:
    assert Guard(AccessSection()).lets_in_nameless(host) is nameless
    assert Guard(AccessSection(anonymous="everybody")).lets_in_nameless(host)
    assert not Guard(AccessSection(anonymous="nobody")).lets_in_nameless(host)


def test_passwords_are_checked_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "CHECKS_WAITING_MAX", WAITING)
    file = tmp_path / "passwords"
    set_password(file, "ann", "secret")

    async def run() -> None:
        guard = Guard(AccessSection(passwords=str(file)))
        assert guard.knows_passwords
        assert await guard.check("ann", b"secret")
        assert not await guard.check("ann", b"wrong")
        many = await asyncio.gather(*(guard.check("ann", b"x") for _ in range(WAITING + 1)))
        assert not any(many)
        assert guard.refused_unread == 1
        guard.close()

    asyncio.run(run())


def test_without_a_file_no_name_is_believed() -> None:
    guard = Guard(AccessSection())
    assert not guard.knows_passwords
    assert not asyncio.run(guard.check("ann", b""))


def test_rules_are_read_and_read_again_and_bad_ones_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    guard = Guard(AccessSection(rules=str(file)))
    ann = guard.access.grants("ann", "c")
    assert ann is not None
    assert ann.may_publish("a/1")
    file.write_text("[[rule]]\npublish = ['a#']\n")
    with pytest.raises(ConfigError, match="rules"):
        guard.reload()
    again = guard.access.grants("ann", "c")
    assert again is not None
    assert again.may_publish("a/1")
    file.write_text("")
    guard.reload()
    nothing = guard.access.grants("ann", "c")
    assert nothing is not None
    assert not nothing.may_publish("a/1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[rule]]\nusr = 'ann'\n", r"rule\[0\]: unknown key 'usr'; allowed: client, publish, subscribe, user, where"),
        ("[[rules]]\n", "top level: unknown key 'rules'; allowed: rule"),
        ("[[rule]]\npublish = 'a'\n", "array"),
        ("rule = [\n", "rules"),
        ("[[rule]]\nsubscribe = ['a']\nwhere = 'n >'\n", "user '\\*'"),
    ],
)
def test_bad_rules_are_a_reason_not_to_begin(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=why):
        Guard(AccessSection(rules=str(file)))
    with pytest.raises(ConfigError, match="No such file"):
        read_rules(tmp_path / "nothing.toml")
