"""``reknit broker``: one broker, in the foreground; ``add`` and ``drain``: one more or less in a network that runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, JsonFlag, LogFormatFlag, LogLevelFlag, VerifyFlag
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.live.config import BrokerFile, OwnSection, Settings

__all__ = ["add", "broker", "drain", "register"]


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(
        invoke_without_command=True, short_help="Run one broker, or add or drain one.", rich_markup_mode=None
    )
    verbs.callback()(broker)
    verbs.command("add", short_help="Add a broker to the network that runs here.")(add)
    verbs.command("drain", short_help="Move a broker's clients to its neighbour, and end it.")(drain)
    app.add_typer(verbs, name="broker")


def broker(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="What its neighbours call it.  [required]")] = "",
    mqtt: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where clients connect.  [required]")] = "",
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where other brokers connect.  [required]")] = "",
    mqtts: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where clients connect in TLS; see [tls].")] = "",
    ws: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where clients connect through WebSocket.")] = "",
    wss: Annotated[str, typer.Option(metavar="HOST:PORT", help="The same in TLS.")] = "",
    relay: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where other brokers bring clients of ours.")] = "",
    admin: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where operators ask, over HTTP.")] = "",
    link: Annotated[list[str], typer.Option(metavar="NAME=HOST:PORT", help="A neighbour to dial.")] = [],  # noqa: B006
    expect: Annotated[list[str], typer.Option(metavar="NAME", help="A neighbour that dials us.")] = [],  # noqa: B006
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the neighbours there; if it exists, they count alone.")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A broker's TOML file; flags win.")] = None,
    trace: Annotated[str, typer.Option(metavar="DIR", help="Write what it sees there.")] = "",
    store: Annotated[str, typer.Option(metavar="FILE", help="Keep there what is acknowledged.")] = "",
    new: Annotated[
        bool, typer.Option("--new", help="It has never been linked before: its first link needs no search.")
    ] = False,
    log_format: LogFormatFlag = None,
    log_level: LogLevelFlag = None,
    part_of: Annotated[str, typer.Option(hidden=True)] = "",
    settings: Annotated[str, typer.Option(hidden=True)] = "",
    until_stdin_closes: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Run one broker until Ctrl-C. What becomes of its links is told on standard error, a line for each change.

    What is required may stand in the file of --config instead.

    Example: reknit broker --name b2 --mqtt 127.0.0.1:1884 --listen 127.0.0.1:7002 --link b1=127.0.0.1:7001
    """
    if context.invoked_subcommand is not None:
        return
    import msgspec

    from reknit.live.address import parse_address
    from reknit.live.config import check_name, read_broker_file
    from reknit.live.network import EXIT_DRAINED
    from reknit.live.process import DOORS, BrokerPlan, run_broker

    # Whoever gives the settings has looked at the environment already.
    file = read_broker_file(config, {} if settings else os.environ)
    given = {"name": name, "mqtt": mqtt, "listen": listen, "admin": admin, "state": str(state) if state else ""}
    given |= {"mqtts": mqtts, "ws": ws, "wss": wss, "relay": relay}
    section = msgspec.structs.replace(file.broker, **{key: value for key, value in given.items() if value})
    _refuse_missing(section)
    plan = BrokerPlan(
        name=check_name(section.name, "--name"),
        mqtt=parse_address(section.mqtt, "--mqtt"),
        listen=parse_address(section.listen, "--listen"),
        admin=parse_address(section.admin, "--admin") if section.admin else None,
        doors={key: parse_address(at, f"--{key}") for key in DOORS if (at := getattr(section, key))},
        neighbours=_neighbours(section.name, {**file.neighbours, **_links(link), **dict.fromkeys(expect, "")}),
        settings=_settings(file, settings, trace, store, log_format, log_level),
        state=Path(section.state) if section.state else None,
        known_at=parse_address(section.known_at, "known_at") if section.known_at else None,
        new=new,
        part_of=part_of,
        until_stdin_closes=until_stdin_closes,
    )
    if run_broker(plan) and until_stdin_closes:
        raise typer.Exit(EXIT_DRAINED)


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What its neighbours are to call it.")],
    link: Annotated[str, typer.Option(metavar="TO", help="The broker to link it with; none without it.")] = "",
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Start a broker more in the network that `reknit up` runs in this directory, at ports that are free.

    It joins the tree while events flow, and is looked after like the others. Without --link it is a tree of its own.

    Example: reknit broker add b6 --link b2
    """
    from reknit.cli._changes.plans import plan_add
    from reknit.cli._changes.run import Manner, run
    from reknit.live.config import check_name

    check_name(name, "broker add")
    if link:
        run(Manner([], dry_run, verify, as_json), lambda _, view: plan_add(view, name, link))
    else:
        _add_alone(name, dry_run, as_json)


def _add_alone(name: str, dry_run: bool, as_json: bool) -> None:
    """No change of the tree: it is one of its own."""
    import json

    import msgspec

    from reknit.cli._changes.plans import refuse_taken
    from reknit.cli._operator import Operator

    with Operator([]) as operator:
        refuse_taken(operator.names, name)
        if dry_run:
            cost = {"dry_run": True, "steps": [f"broker add {name}"], "brokers": [name], "messages": 0, "bytes": 0}
            shown = f"{name} would be started, a tree of its own; nothing was changed"
            typer.echo(json.dumps(cost, indent=2) if as_json else shown)
            return
        added = operator.add_broker(name, "")
    shown = f"{name} is ready, a tree of its own: mqtt {added.mqtt}, links {added.listen}, admin {added.admin}"
    typer.echo(json.dumps({"done": True, **msgspec.to_builtins(added)}, indent=2) if as_json else shown)


def drain(
    name: Annotated[str, typer.Argument(metavar="B", help="The broker to drain.")],
    to: Annotated[str, typer.Option(metavar="A", help="The neighbour that takes its clients.")] = "",
    stop: Annotated[bool, typer.Option("--stop", help="Stop a drain that is under way; B stays.")] = False,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Move the clients of B to a neighbour, and end B. No event is lost, doubled or reordered.

    If B is no leaf of the tree, the links of its other neighbours are swapped over to A first. Without --to, A is the
    neighbour whose name is the first.

    Example: reknit broker drain b2 --to b1 --dry-run
    """
    from reknit.cli._changes.plans import plan_drain
    from reknit.cli._changes.run import Manner, run

    if stop:
        _stop_drain(name, admin, as_json)
        return
    run(Manner(admin, dry_run, verify, as_json), lambda _, view: plan_drain(view, name, to))


def _stop_drain(name: str, admin: list[str], as_json: bool) -> None:
    import json

    from reknit.cli._changes.view import look
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        view = look(operator)
        view.check(name)
        view.answers(name)
        operator.change("DELETE", "/drain", at=name)
    line = f"{name} stays, with the sessions that have not moved"
    typer.echo(json.dumps({"broker": name, "stays": True}) if as_json else line)


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


def _settings(file: BrokerFile, text: str, trace: str, store: str, form: str | None, level: str | None) -> Settings:
    import msgspec

    from reknit.live.config import StoreSection, TraceSection, parse_settings, with_log, with_standby

    own = msgspec.structs.replace(file.settings, options=with_standby(file.options, file.standby))
    chosen = with_log(parse_settings(text) if text else own, form, level)
    chosen = msgspec.structs.replace(chosen, store=StoreSection(path=store)) if store else chosen
    return msgspec.structs.replace(chosen, trace=TraceSection(directory=trace)) if trace else chosen
