"""``reknit broker``: one broker, in the foreground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.live.config import BrokerFile, OwnSection, Settings

__all__ = ["broker", "register"]


def register(app: typer.Typer) -> None:
    app.command("broker", short_help="Run one broker until Ctrl-C.")(broker)


def broker(
    name: Annotated[str, typer.Option(help="What its neighbours call it.  [required]")] = "",
    mqtt: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where clients connect.  [required]")] = "",
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where other brokers connect.  [required]")] = "",
    admin: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where operators ask, over HTTP.")] = "",
    link: Annotated[list[str], typer.Option(metavar="NAME=HOST:PORT", help="A neighbour to dial.")] = [],  # noqa: B006
    expect: Annotated[list[str], typer.Option(metavar="NAME", help="A neighbour that dials us.")] = [],  # noqa: B006
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the neighbours there; if it exists, they count alone.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A broker's TOML file; flags win.")] = None,
    trace: Annotated[str, typer.Option(metavar="DIR", help="Write what it sees there.")] = "",
    settings: Annotated[str, typer.Option(hidden=True)] = "",
    until_stdin_closes: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Run one broker until Ctrl-C. What becomes of its links is told on standard error, a line for each change.

    What is required may stand in the file of --config instead.

    Example: reknit broker --name b2 --mqtt 127.0.0.1:1884 --listen 127.0.0.1:7002 --link b1=127.0.0.1:7001
    """
    import msgspec

    from reknit.live.address import parse_address
    from reknit.live.config import BrokerFile, check_name, read_broker_file
    from reknit.live.process import BrokerPlan, run_broker

    file = read_broker_file(config) if config else BrokerFile()
    given = {"name": name, "mqtt": mqtt, "listen": listen, "admin": admin, "state": str(state) if state else ""}
    section = msgspec.structs.replace(file.broker, **{key: value for key, value in given.items() if value})
    _refuse_missing(section)
    plan = BrokerPlan(
        name=check_name(section.name, "--name"),
        mqtt=parse_address(section.mqtt, "--mqtt"),
        listen=parse_address(section.listen, "--listen"),
        admin=parse_address(section.admin, "--admin") if section.admin else None,
        neighbours=_neighbours(section.name, {**file.neighbours, **_links(link), **dict.fromkeys(expect, "")}),
        settings=_settings(file, settings, trace),
        state=Path(section.state) if section.state else None,
        until_stdin_closes=until_stdin_closes,
    )
    _log_to_stderr()
    run_broker(plan)


def _refuse_missing(section: OwnSection) -> None:
    missing = [key for key in ("name", "mqtt", "listen") if not getattr(section, key)]
    if missing:
        flags = ", ".join(f"--{key}" for key in missing)
        verb = "are" if len(missing) > 1 else "is"
        raise BadInput(f"broker: {flags} {verb} missing (may stand under [broker] in the file of --config, too)")


def _links(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, address = text.partition("=")
        if not equals:
            raise BadInput(f"--link: {text!r} is no NAME=HOST:PORT (such as b1=127.0.0.1:7001)")
        if name in found:
            raise BadInput(f"--link: the neighbour {name!r} is given twice")
        found[name] = address
    return found


def _neighbours(own: str, neighbours: dict[str, str]) -> dict[str, str]:
    from reknit.live.address import parse_address
    from reknit.live.config import check_name

    for name, address in neighbours.items():
        if check_name(name, "neighbour") == own:
            raise BadInput(f"neighbour: {own!r} is this broker itself")
        if address:
            parse_address(address, f"neighbour {name}")
    return neighbours


def _settings(file: BrokerFile, text: str, trace: str) -> Settings:
    import msgspec

    from reknit.live.config import Settings, TraceSection, parse_settings

    chosen = (
        parse_settings(text)
        if text
        else Settings(options=file.options, mqtt=file.mqtt, trace=file.trace, bounds=file.bounds)
    )
    return msgspec.structs.replace(chosen, trace=TraceSection(directory=trace)) if trace else chosen


def _log_to_stderr() -> None:
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
