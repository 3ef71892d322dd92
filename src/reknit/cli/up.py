"""``reknit up``: a whole network on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._flags import JsonFlag
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.live.config import NetworkFile
    from reknit.live.statefile import NetworkState

__all__ = ["register", "up"]


def register(app: typer.Typer) -> None:
    app.command("up", short_help="Run a whole network on this machine until Ctrl-C.")(up)


def up(
    file: Annotated[Path | None, typer.Argument(metavar="FILE.toml", help="A network's file; flags win.")] = None,
    brokers: Annotated[int | None, typer.Option(metavar="N", help="How many brokers (default 3).")] = None,
    shape: Annotated[str | None, typer.Option(metavar="line|star|random", help="How they are linked.")] = None,
    mqtt_base_port: Annotated[int | None, typer.Option(metavar="P", help="MQTT at P, P+1, … (default 1883).")] = None,
    routing: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="subscription-forwarding (default), global-table, flooding or rendezvous."),
    ] = None,
    trace: Annotated[Path | None, typer.Option(metavar="DIR", help="Write what the brokers see there.")] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep there what is acknowledged, a file for each broker.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Chooses the links of the shape random.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Start a network of brokers, print where they are, and look after them until Ctrl-C.

    Example: reknit up --brokers 5 --shape line --mqtt-base-port 1883
    """
    import asyncio

    from reknit.live.plan import plan_network
    from reknit.live.statefile import refuse_if_running
    from reknit.live.steward import run_network

    wanted = {"brokers": brokers, "shape": shape, "mqtt_base_port": mqtt_base_port, "seed": seed}
    network = _with_flags(
        file, {key: value for key, value in wanted.items() if value is not None}, routing, trace, store
    )
    refuse_if_running(Path.cwd())  # before its ports are found to be taken, which says less
    plan = plan_network(network)
    asyncio.run(run_network(plan, Path.cwd(), _print_json if as_json else _print_table))


def _with_flags(
    path: Path | None, wanted: dict[str, Any], routing: str | None, trace: Path | None, store: Path | None
) -> NetworkFile:
    """The file with what the flags say put over it, checked as a whole."""
    import msgspec

    from reknit.live.address import PORT_MAX
    from reknit.live.config import convert_network, network_edges, read_network_file
    from reknit.live.errors import ConfigError

    file = read_network_file(path, os.environ)
    if file.broker and wanted:
        raise BadInput(f"--{next(iter(wanted)).replace('_', '-')}: the file lists its brokers under [[broker]]")
    document = msgspec.to_builtins(file)
    document["network"].update(wanted)
    if routing is not None:
        document["options"]["routing"] = routing
    if trace is not None:
        document["trace"]["directory"] = str(trace)
    if document["trace"]["directory"]:
        document["trace"]["directory"] = str(Path(document["trace"]["directory"]).absolute())
    if store is not None:
        document["store"]["path"] = str(store)
    if document["store"]["path"]:
        document["store"]["path"] = str(_directory(document["store"]["path"]))
    try:
        chosen = convert_network(document)
    except ConfigError as error:
        raise BadInput(_by_flag(str(error), wanted, routing)) from None
    base, count = chosen.network.mqtt_base_port, chosen.network.brokers
    if not chosen.broker and base + count - 1 > PORT_MAX:
        raise BadInput(f"--mqtt-base-port {base}: {count} brokers would need ports up to {base + count - 1}")
    network_edges(chosen)
    return chosen


def _directory(text: str) -> Path:
    """Where the stores of all brokers are; made if it is not there."""
    path = Path(text).absolute()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--store {path}: {error.strerror}") from None
    return path


def _by_flag(error: str, wanted: dict[str, Any], routing: str | None) -> str:
    """Name the flag instead of the key that it has set: the file may not even have that."""
    for key in wanted:
        if error.startswith(f"network.{key}: "):
            return error.replace(f"network.{key}", f"--{key.replace('_', '-')} {wanted[key]}", 1)
    return error.replace("options.routing", f"--routing {routing}", 1) if routing is not None else error


def _print_json(state: NetworkState) -> None:
    """Where everybody is, once all are ready."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(state), indent=2).decode())


def _print_table(state: NetworkState) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("broker", "mqtt", "links", "admin", "neighbours", box=None, pad_edge=False)
    for broker in state.brokers:
        others = [b if a == broker.name else a for a, b in state.links if broker.name in (a, b)]
        table.add_row(broker.name, broker.mqtt, broker.listen, broker.admin, " ".join(others))
    console = Console(soft_wrap=True)
    console.print(table)
    console.print("ready; end with Ctrl-C", highlight=False)
    console.file.flush()
