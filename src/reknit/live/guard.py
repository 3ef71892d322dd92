"""The guard: who may come to the clients' door, which rules hold there, and who is an operator.

Owns: the files of passwords, rules and the operators' token, when they are read, and that slow checks of passwords hold
up nobody. Must not know: MQTT, or HTTP. Files that are bad when the broker begins are a reason not to begin; when they
are read again, the old ones go on holding, and the one who asked is told.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from reknit.live.errors import ConfigError
from reknit.live.explain import explain
from reknit.live.log import Line
from reknit.live.passwords import Passwords, read_passwords
from reknit.mqtt.access import Access, BadRule, Rule

__all__ = ["AccessSection", "Guard", "is_loopback", "read_rules", "read_token"]

CHECKS_WAITING_MAX = 256
"""Passwords that wait to be checked; beyond it one more is refused unread."""
RULES_BYTES_MAX = 4 << 20
TOKEN_CHARS_MIN, TOKEN_CHARS_MAX = 16, 512
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/-]+=*")

Anonymous: TypeAlias = Literal["loopback", "nobody", "everybody"]


class AccessSection(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[access]``: who may come, and what for."""

    anonymous: Anonymous = "loopback"
    """From where a client may come without a user name."""
    passwords: str = ""
    """The file of users and passwords (`reknit password`); without one, no user name is believed."""
    rules: str = ""
    """The file of rules; without one, whoever may come may do everything."""
    operators: tuple[str, ...] = ()
    """Users that may come to the operators' door from other machines; ``*`` stands for any letters."""
    operator_token: str = ""
    """A file of one line: whoever brings that as a bearer token may come there, too."""


class Guard:
    def __init__(self, section: AccessSection) -> None:
        """``ConfigError`` if a file cannot be read whole."""
        self._section = section
        self._pool: ThreadPoolExecutor | None = None
        self._waiting = 0
        self.refused_unread = 0
        self._passwords: Passwords | None = None
        self._token = b""
        self.access = Access()
        if section.operators and not section.passwords:
            raise ConfigError("access: operators have no passwords without a file of them; set passwords, too")
        self.reload()

    def reload(self) -> None:
        """Read all files again; ``ConfigError``, and nothing has changed, if one is bad."""
        passwords = read_passwords(Path(self._section.passwords)) if self._section.passwords else None
        access = Access(read_rules(Path(self._section.rules))) if self._section.rules else Access()
        token = read_token(Path(self._section.operator_token)) if self._section.operator_token else b""
        self._passwords, self.access, self._token = passwords, access, token

    @property
    def told(self) -> Line:
        """That the files were read, and how much is in them."""
        users = len(self._passwords) if self._passwords is not None else None
        rules = self.access.count
        shown = [
            f"{number} {what}" if number is not None else f"no file of {what}"
            for number, what in ((users, "users"), (rules, "rules"))
        ]
        text = f"the files of passwords and rules were read again: {', '.join(shown)}"
        return Line(text, "access.reloaded", users=users, rules=rules)

    @property
    def knows_passwords(self) -> bool:
        return self._passwords is not None

    def knows(self, user: str) -> bool:
        return self._passwords is not None and user in self._passwords

    def lets_in_nameless(self, host: str) -> bool:
        """Whether a client at this address needs no user name."""
        if self._section.anonymous == "loopback":
            return is_loopback(host)
        return self._section.anonymous == "everybody"

    # --- operators

    @property
    def knows_operators(self) -> bool:
        """Whether anybody could come to the operators' door from another machine."""
        return bool(self._section.operators or self._token)

    def is_token(self, given: bytes) -> bool:
        return bool(self._token) and hmac.compare_digest(given, self._token)

    async def is_operator(self, user: str, password: bytes) -> bool:
        """The password is checked first, so that nobody learns by the clock which users are operators."""
        good = await self.check(user, password)
        return good and any(fnmatchcase(user, each) for each in self._section.operators)

    # --- passwords

    async def check(self, user: str, password: bytes) -> bool:
        if self._passwords is None or self._waiting >= CHECKS_WAITING_MAX:
            self.refused_unread += 1
            return False
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "passwords")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, self._passwords.check, user, password)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False  # nor is one that could not be told: a client that resets its connection at once has no address
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def read_token(path: Path) -> bytes:
    """``ConfigError`` unless it is one line that can be a bearer token, and no guess is likely to hit."""
    try:
        with path.open("rb") as file:
            token = file.read(TOKEN_CHARS_MAX + 2).strip()
    except OSError as error:
        raise ConfigError(f"operator_token: {path}: {error.strerror}") from None
    if not TOKEN_CHARS_MIN <= len(token) <= TOKEN_CHARS_MAX or not _TOKEN.fullmatch(token):
        wanted = f"one line of {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} letters, digits and ._~+/-"
        raise ConfigError(f"operator_token: {path}: this is no token: {wanted}")
    return token


class _RulesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    rule: tuple[Rule, ...] = ()


def read_rules(path: Path) -> tuple[Rule, ...]:
    try:
        raw = path.read_bytes()
        if len(raw) > RULES_BYTES_MAX:
            raise ConfigError(f"rules: {path}: more than {RULES_BYTES_MAX} bytes")
        rules = msgspec.convert(tomllib.loads(raw.decode()), _RulesFile).rule
        for rule in rules:
            rule.check()
    except OSError as error:
        raise ConfigError(f"rules: {path}: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"rules: {path}: {explain(str(error), _RulesFile)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, BadRule) as error:
        raise ConfigError(f"rules: {path}: {error}") from None
    return rules
