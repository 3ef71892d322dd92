"""The flags of a connection, which ``pub``, ``sub`` and ``rr`` have in common, and the client that they ask for.

Owns: mosquitto's letters for where, who, how secure and for how long. Must not know: what the connection is for.

The flags are the fields of one value, ``Link``; a verb that is ``taking_link`` has them all beside its own.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from reknit.cli._address import mqtt_address
from reknit.cli._mosquitto.properties import read_properties
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    import ssl

    from reknit.client import Client, Terms, Will
    from reknit.client.properties import Pairs
    from reknit.client.terms import Version

__all__ = ["Link", "taking_link"]

TLS_PORT = 8883
IN_FLIGHT_MAX = 20
_VERSIONS: dict[str, Version] = {
    **dict.fromkeys(("mqttv5", "5"), "5"),
    **dict.fromkeys(("mqttv311", "311"), "3.1.1"),
    **dict.fromkeys(("mqttv31", "31"), "3.1"),
}
_FOR_EVER = ("-1", "∞")
_SCHEMES = {"mqtt://": False, "mqtts://": True}


@dataclass(frozen=True, slots=True)
class Link:
    """The flags as they were given."""

    host: Annotated[str | None, typer.Option("-h", "--host", help="The broker's host.")] = None
    port: Annotated[int | None, typer.Option("-p", "--port", help="Its MQTT port (1883, or 8883 in TLS).")] = None
    broker: Annotated[str, typer.Option(metavar="NAME", help="A broker of the network that runs here.")] = ""
    url: Annotated[
        str, typer.Option("-L", "--url", metavar="mqtt(s)://USER:PW@HOST:PORT/TOPIC", help="All at once.")
    ] = ""
    username: Annotated[str | None, typer.Option("-u", "--username", help="The user's name.")] = None
    password: Annotated[str | None, typer.Option("-P", "--pw", metavar="TEXT", help="The user's password.")] = None
    client_id: Annotated[str, typer.Option("-i", "--id", help="The client's identifier.")] = ""
    id_prefix: Annotated[str, typer.Option("-I", "--id-prefix", help="The same, with the process id behind it.")] = ""
    stay: Annotated[bool, typer.Option("-c", "--disable-clean-session", help="Keep the session.")] = False
    expiry: Annotated[
        str, typer.Option("-x", "--session-expiry-interval", metavar="SECONDS", help="For so long; -1: for ever.")
    ] = ""
    keepalive: Annotated[int, typer.Option("-k", "--keepalive", min=0, max=65535, help="Seconds.")] = 60
    version: Annotated[
        str, typer.Option("-V", "--protocol-version", metavar="5|311|31", help="Of MQTT; also mqttv5 and so on.")
    ] = "5"
    bind: Annotated[str, typer.Option("-A", metavar="ADDRESS", help="The own address to connect from.")] = ""
    nodelay: Annotated[bool, typer.Option("--nodelay", help="Do not wait to fill packets.")] = False
    debug: Annotated[bool, typer.Option("-d", "--debug", help="Tell each packet on standard error.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no errors; the exit code tells.")] = False
    will_topic: Annotated[str, typer.Option("--will-topic", help="The will's topic.")] = ""
    will_payload: Annotated[str, typer.Option("--will-payload", help="Its payload.")] = ""
    will_qos: Annotated[int, typer.Option("--will-qos", min=0, max=2, help="Its QoS.")] = 0
    will_retain: Annotated[bool, typer.Option("--will-retain", help="Whether it is kept.")] = False
    cafile: Annotated[Path | None, typer.Option("--cafile", metavar="FILE", help="Authorities to trust: TLS.")] = None
    capath: Annotated[Path | None, typer.Option("--capath", metavar="DIR", help="The same, a directory.")] = None
    cert: Annotated[Path | None, typer.Option("--cert", metavar="FILE", help="The client's certificate.")] = None
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="Its key.")] = None
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not compare the host with the certificate.")] = False
    ciphers: Annotated[str, typer.Option("--ciphers", help="Of TLS 1.2, as OpenSSL names them.")] = ""
    tls_version: Annotated[str, typer.Option("--tls-version", metavar="tlsv1.2|tlsv1.3", help="At least.")] = ""
    os_certs: Annotated[bool, typer.Option("--tls-use-os-certs", help="Trust the machine's authorities: TLS.")] = False
    stated: Annotated[
        list[str],
        typer.Option(
            "-D", "--property", metavar="COMMAND NAME VALUE", help="A property of MQTT 5; user-property: 2 values."
        ),
    ] = field(default_factory=list)

    @property
    def topic(self) -> str:
        """The topic of ``-L``; empty if there is none."""
        return _split(self.url)[1] if self.url else ""

    def client(self, in_flight_max: int = IN_FLIGHT_MAX) -> Client:
        """A client on these terms, not connected yet. ``BadInput`` where flags do not go together."""
        from reknit.client import connect

        chosen = self._with_url()
        if chosen.debug:
            _tell_packets()
        secure = chosen.secure
        host, port = mqtt_address(chosen.host, chosen.port or (TLS_PORT if secure else None), chosen.broker)
        client_id = f"{chosen.id_prefix}{os.getpid()}" if chosen.id_prefix else chosen.client_id
        if chosen.stay and not client_id:
            raise BadInput("-c: a session that is kept needs a client identifier (-i)")
        return connect(
            host, port, client_id=client_id, keepalive_s=chosen.keepalive, terms=chosen._terms(in_flight_max)
        )

    @property
    def secure(self) -> bool:
        return bool(self.cafile or self.capath or self.os_certs or self.cert)

    @property
    def modern(self) -> bool:
        """Whether it is MQTT 5."""
        return _VERSIONS.get(self.version) == "5"

    def properties(self, command: str) -> Pairs:
        return read_properties(self.stated).get(command, ())

    def _with_url(self) -> Link:
        if not self.url:
            return self
        if self.host is not None or self.port is not None or self.broker:
            raise BadInput("-L names the address; leave out -h, -p and --broker")
        from dataclasses import replace

        found, _ = _split(self.url)
        return replace(self, **{"username": self.username, "password": self.password, **found})

    def _terms(self, in_flight_max: int) -> Terms:
        from reknit.client import Terms

        if self.version not in _VERSIONS:
            raise BadInput(f"-V: {self.version!r} is no version; there are {', '.join(_VERSIONS)}")
        if self.password is not None and self.username is None:
            raise BadInput("-P: a password needs a user name (-u)")
        if self.properties("disconnect"):
            raise BadInput("-D disconnect: this client sends none of these")
        if any(name == "topic-alias-maximum" for name, _ in self.properties("connect")):
            raise BadInput("-D connect topic-alias-maximum: this client takes topics by their names only")
        return Terms(
            username=self.username,
            password=self.password,
            will=self._will(),
            tls=self._tls() if self.secure else None,
            version=_VERSIONS[self.version],
            clean=not self.stay,
            session_expiry_s=self._expiry_s(),
            in_flight_max=in_flight_max,
            bind=self.bind,
            nodelay=self.nodelay,
            properties=self.properties("connect"),
        )

    def _expiry_s(self) -> int:
        from reknit.client.terms import FOR_EVER_S

        if not self.expiry:
            return FOR_EVER_S if self.stay and self.modern else 0
        if self.expiry in _FOR_EVER:
            return FOR_EVER_S
        if not (self.expiry.isascii() and self.expiry.isdigit() and int(self.expiry) <= FOR_EVER_S):
            raise BadInput(f"-x: {self.expiry!r} is no number of seconds")
        return int(self.expiry)

    def _will(self) -> Will | None:
        from reknit.client import Will

        if not self.will_topic:
            if self.will_payload or self.will_qos or self.will_retain or self.properties("will"):
                raise BadInput("--will-topic is missing: a will needs one")
            return None
        payload = self.will_payload.encode(errors="surrogateescape")
        return Will(self.will_topic, payload, self.will_qos, self.will_retain, self.properties("will"))

    def _tls(self) -> ssl.SSLContext:
        import ssl

        try:
            cafile, capath = (str(each) if each else None for each in (self.cafile, self.capath))
            context = ssl.create_default_context(cafile=cafile, capath=capath)
            context.check_hostname = not self.insecure
            context.minimum_version = _tls_version(self.tls_version)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
            if self.ciphers:
                context.set_ciphers(self.ciphers)
        except OSError as error:  # which ssl.SSLError is, too
            raise BadInput(f"TLS: {error.strerror or error}") from None
        return context


def _tls_version(name: str) -> ssl.TLSVersion:
    import ssl

    known = {"": ssl.TLSVersion.TLSv1_2, "tlsv1.2": ssl.TLSVersion.TLSv1_2, "tlsv1.3": ssl.TLSVersion.TLSv1_3}
    if name not in known:
        raise BadInput(f"--tls-version: {name!r} is none of tlsv1.2, tlsv1.3")
    return known[name]


def _split(url: str) -> tuple[dict[str, Any], str]:
    """What of the flags a URL says, and its topic."""
    scheme = next((each for each in _SCHEMES if url.startswith(each)), None)
    place, slash, topic = url.removeprefix(scheme or "").partition("/")
    user, at, address = place.rpartition("@")
    host, colon, port = address.rpartition(":") if not address.endswith("]") else (address, "", "")
    host = (host if colon else address).removeprefix("[").removesuffix("]")
    if scheme is None or not host or (colon and not (port.isascii() and port.isdigit())) or (slash and not topic):
        raise BadInput("-L: not of the form mqtt(s)://[USER[:PASSWORD]@]HOST[:PORT]/TOPIC")
    found: dict[str, Any] = {"host": host}
    if colon:
        found["port"] = int(port)
    if at:
        name, has_password, password = user.partition(":")
        found["username"] = name
        if has_password:
            found["password"] = password
    if _SCHEMES[scheme]:
        found["os_certs"] = True
    return found, topic


def _tell_packets() -> None:
    """What the client's library says of each packet: types, numbers and topics; never a password or a payload."""
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("reknit.client")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)


def taking_link(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with all flags of a link beside its own; it gets them as ``link``. Errors are told, or not, by it."""
    own = [each for each in inspect.signature(verb, eval_str=True).parameters.values() if each.name != "link"]
    hints = get_type_hints(Link, include_extras=True)
    flags = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=[] if each.name == "stated" else each.default,
            annotation=hints[each.name],
        )
        for each in fields(Link)
    ]
    names = {each.name for each in flags}

    @functools.wraps(verb)
    def run(**given: Any) -> None:
        link = Link(**{name: value for name, value in given.items() if name in names})
        with _errors(verb.__name__, link.quiet):
            verb(link=link, **{name: value for name, value in given.items() if name not in names})

    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    parameters = [*keyword, *flags]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # typer would look at its signature instead
    return run


@contextlib.contextmanager
def _errors(verb: str, quiet: bool) -> Iterator[None]:
    """Each failure of the client is one line of the verb's; none if it is to be quiet, and then the exit code tells."""
    try:
        with _translated(verb):
            yield
    except (BadInput, Failed) as error:
        if quiet:
            raise typer.Exit(error.exit_code) from None
        raise


@contextlib.contextmanager
def _translated(verb: str) -> Iterator[None]:
    from reknit.client import ClientError, Refused

    try:
        yield
    except Refused as error:
        raise BadInput(f"{verb}: refused: {error}") from None
    except ValueError as error:  # found before anything was sent
        raise BadInput(f"{verb}: {error}") from None
    except ClientError as error:
        raise Failed(str(error)) from None
