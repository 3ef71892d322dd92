"""``-u -P --cafile --cert --key --insecure``, at a broker of either kind, beside mosquitto's clients."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.live.address import free_ports
from reknit.live.passwords import set_password
from tests.live.certificates import Authority
from tests.ports import until_open

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
pytestmark = pytest.mark.skipif(
    not MOSQUITTO or not shutil.which("mosquitto_passwd"), reason="mosquitto is not installed"
)
LIMIT_S = 30


def command(kind: str, directory: Path, port: int, certificate: Path) -> list[str]:
    """A broker in TLS that knows ann alone."""
    if kind == "mosquitto":
        passwords = directory / "theirs"
        subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), "ann", "opensesame"], check=True)
        lines = [f"listener {port} 127.0.0.1", "user root", "allow_anonymous false", f"password_file {passwords}"]
        lines += [f"certfile {certificate}", f"keyfile {certificate}", f"cafile {directory / 'authority.pem'}"]
        (directory / "conf").write_text("\n".join(lines) + "\n")
        return [str(MOSQUITTO), "-c", str(directory / "conf")]
    set_password(directory / "ours", "ann", "opensesame")
    access = (
        f'[access]\nanonymous = "nobody"\npasswords = "{directory / "ours"}"\n[tls]\ncertificate = "{certificate}"\n'
    )
    (directory / "b.toml").write_text(access)
    mqtt, listen = free_ports("127.0.0.1", 2)
    words = ["--name", "b1", "--mqtt", f"127.0.0.1:{mqtt}", "--listen", f"127.0.0.1:{listen}"]
    words += ["--mqtts", f"127.0.0.1:{port}", "--config", str(directory / "b.toml")]
    return [sys.executable, "-m", "reknit", "broker", *words]


@pytest.mark.parametrize("kind", ["mosquitto", "reknit"])
def test_users_and_tls(kind: str, reknit: Callable[..., Any], tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate = authority.sign("broker")
    own = authority.sign("client")
    port = free_ports("127.0.0.1", 1)[0]
    process = subprocess.Popen(command(kind, tmp_path, port, certificate), stderr=subprocess.DEVNULL)
    try:
        until_open(port, process)
        where = ["-h", "127.0.0.1", "-p", str(port), "-t", "t"]
        good = [*where, "-u", "ann", "-P", "opensesame", "--cafile", str(authority.file)]
        assert reknit("pub", *good, "-m", "safe", "-r", "-q", "1").code == 0
        assert reknit("sub", *good, "--cert", str(own), "--key", str(own), "-C", "1").out == "safe\n"
        assert reknit("sub", *good, "--insecure", "--tls-version", "tlsv1.3", "-C", "1").out == "safe\n"
        theirs = subprocess.run(["mosquitto_sub", *good, "-C", "1"], capture_output=True, timeout=LIMIT_S)
        assert theirs.stdout == b"safe\n"
        for bad in ([*good, "-P", "wrong"], [*where, "--cafile", str(authority.file)], [*where, "-u", "ann"]):
            said = reknit("sub", *bad, "-C", "1", "-W", "20")
            assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
            assert "opensesame" not in said.err
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)
