"""The file of users and their passwords, and whether a password is right.

A line of the file is ``user:scrypt:LOG2N:R:P:SALT:KEY``, salt and key in base64; lines that begin with ``#`` are passed
over. Only what cannot be turned back is kept. Checking is slow on purpose, about a twentieth of a second, and so is an
unknown user, so that nobody learns by the clock which users there are. It belongs into a thread.

Owns: the form of the file. Must not know: clients, or what a user may do.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from reknit.live.errors import ConfigError

__all__ = ["Passwords", "read_passwords", "set_password"]

LOG2N, R, P = 14, 8, 1
"""The work for one check: 16 MiB of memory, and a twentieth of a second or so."""
LOG2N_MAX, R_MAX, P_MAX = 18, 16, 4
SALT_BYTES, KEY_BYTES = 16, 32
USERS_MAX = 100_000
FILE_BYTES_MAX = 32 << 20
_USER = re.compile(r"[^:\s\x00-\x1f]{1,256}")


class _Secret:
    """One line's numbers."""

    __slots__ = ("key", "log2n", "p", "r", "salt")

    def __init__(self, log2n: int, r: int, p: int, salt: bytes, key: bytes) -> None:
        self.log2n, self.r, self.p, self.salt, self.key = log2n, r, p, salt, key

    def fits(self, password: bytes) -> bool:
        derived = _derive(password, self.salt, self.log2n, self.r, self.p, len(self.key))
        return hmac.compare_digest(derived, self.key)


def _derive(password: bytes, salt: bytes, log2n: int, r: int, p: int, size: int = KEY_BYTES) -> bytes:
    memory = 128 * r * (1 << log2n) * 2 + (1 << 20)
    return hashlib.scrypt(password, salt=salt, n=1 << log2n, r=r, p=p, maxmem=memory, dklen=size)


class Passwords:
    def __init__(self, secrets_: dict[str, _Secret]) -> None:
        self._secrets = secrets_
        self._nobody = _Secret(LOG2N, R, P, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(KEY_BYTES))

    def __len__(self) -> int:
        return len(self._secrets)

    def __contains__(self, user: str) -> bool:
        return user in self._secrets

    def check(self, user: str, password: bytes) -> bool:
        """Slow. Whether this is the user's password."""
        found = self._secrets.get(user, self._nobody)
        return found.fits(password) and found is not self._nobody


def read_passwords(path: Path) -> Passwords:
    """``ConfigError`` names the line that is wrong: with half a file nobody knows who may come."""
    try:
        text = path.read_bytes()[: FILE_BYTES_MAX + 1].decode()
    except FileNotFoundError:
        how = "passwords under [access] names it; make it with `reknit password FILE USER`"
        raise ConfigError(f"passwords: {path.absolute()}: No such file or directory; {how}") from None
    except OSError as error:
        raise ConfigError(f"passwords: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"passwords: {path}: this is no UTF-8") from None
    found: dict[str, _Secret] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            user, secret = _read_line(line, f"passwords: {path}: line {number}")
            if user in found:
                raise ConfigError(f"passwords: {path}: line {number}: user {user!r} comes twice")
            found[user] = secret
    if len(found) > USERS_MAX or len(text) > FILE_BYTES_MAX:
        raise ConfigError(f"passwords: {path}: more than {USERS_MAX} users or {FILE_BYTES_MAX} bytes")
    return Passwords(found)


def _read_line(line: str, where: str) -> tuple[str, _Secret]:
    parts = line.rstrip("\n").split(":")
    try:
        user, method, log2n, r, p, salt, key = parts
        secret = _Secret(int(log2n), int(r), int(p), base64.b64decode(salt, validate=True), base64.b64decode(key))
        within = 1 <= secret.log2n <= LOG2N_MAX and 1 <= secret.r <= R_MAX and 1 <= secret.p <= P_MAX
        good = method == "scrypt" and within and bool(secret.salt) and len(secret.key) >= SALT_BYTES
    except (ValueError, binascii.Error):
        good = False
    if not good or not _USER.fullmatch(parts[0]):
        raise ConfigError(f"{where}: no user:scrypt:LOG2N:R:P:SALT:KEY; write it with `reknit password`")
    return user, secret


def set_password(path: Path, user: str, password: str | None) -> bool:
    """Write the user's line anew, or, without a password, remove it. Whether the user was there before."""
    if not _USER.fullmatch(user):
        raise ConfigError(f"password: {user!r} is no user's name: no colons or spaces, 1 to 256 characters")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if path.exists():
        read_passwords(path)  # one that is bad is not made worse
    kept = [line for line in lines if line.split(":")[0] != user]
    known = len(kept) < len(lines)
    if password is not None:
        salt = secrets.token_bytes(SALT_BYTES)
        key = _derive(password.encode(), salt, LOG2N, R, P)
        shown = (base64.b64encode(each).decode() for each in (salt, key))
        kept.append(":".join((user, "scrypt", str(LOG2N), str(R), str(P), *shown)))
    _replace(path, "".join(f"{line}\n" for line in kept))
    return known


def _replace(path: Path, text: str) -> None:
    """In one step, and readable by its owner only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
