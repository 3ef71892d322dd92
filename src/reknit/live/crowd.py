"""The crowd at the clients' door: how many connections each address has, and how fast it brings new ones.

One address that opens connections without end, by mistake or by malice, must not take the places of all others. Its
connections beyond the bound, or beyond the rate, are still opened, as long as there is room at all, so that a client
can be told why it is not served; they end with that answer, or with the time that a CONNECT may take.

Owns: the count and the allowance of each address. Must not know: sockets, or what a client says.
"""

from __future__ import annotations

from dataclasses import dataclass

from reknit.mqtt.reasons import Reason

__all__ = ["Crowd"]

BURST_S = 4.0
"""An address that was quiet may bring as many at once as in so many seconds."""
ADDRESSES_MAX = 100_000
"""Addresses without a connection that are remembered for their rate; beyond it the oldest go."""


@dataclass(slots=True)
class _Address:
    connections: int
    allowance: float
    at: float


class Crowd:
    def __init__(self, connections_max: int, rate_per_s_max: float) -> None:
        """Of one address."""
        self._connections_max = connections_max
        self._rate = rate_per_s_max
        self._of: dict[str, _Address] = {}

    def came(self, host: str, now: float) -> Reason | None:
        """One connection more; why it is not to be served, if it is one too many."""
        burst = self._rate * BURST_S
        address = self._of.pop(host, None) or _Address(0, burst, now)
        self._of[host] = address  # behind all that were here before
        address.allowance = min(burst, address.allowance + (now - address.at) * self._rate)
        address.at = now
        address.connections += 1
        self._make_room()
        if address.connections > self._connections_max:
            return Reason.QUOTA_EXCEEDED
        if address.allowance < 1.0:
            return Reason.CONNECTION_RATE_EXCEEDED
        address.allowance -= 1.0
        return None

    def went(self, host: str) -> None:
        if (address := self._of.get(host)) is not None and address.connections:
            address.connections -= 1

    def _make_room(self) -> None:
        if len(self._of) > ADDRESSES_MAX:
            idle = next((host for host, address in self._of.items() if not address.connections), None)
            if idle is not None:
                del self._of[idle]
