"""Where ``pub`` and ``sub`` connect: ``-h`` and ``-p``, or the name of a broker of the network that runs here."""

from __future__ import annotations

from reknit.cli._problem import BadInput

__all__ = ["HOST", "PORT", "mqtt_address"]

HOST = "127.0.0.1"
PORT = 1883
PORT_MAX = 65535


def mqtt_address(host: str | None, port: int | None, broker: str) -> tuple[str, int]:
    """Host and port of the MQTT door that is meant."""
    if broker:
        if host is not None or port is not None:
            raise BadInput("--broker names the address; leave out -h and -p")
        from reknit.cli._operator import find_state
        from reknit.live.address import parse_address

        found = parse_address(find_state().broker(broker).mqtt)
        return found.host, found.port
    if port is not None and not 0 < port <= PORT_MAX:
        raise BadInput(f"-p: {port} is no port")
    return host or HOST, PORT if port is None else port
