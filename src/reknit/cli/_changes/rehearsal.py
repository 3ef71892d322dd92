"""What a replacement would say: it is rehearsed in the simulator, with the links and subscriptions that there are.

How far subscriptions spread and which routes are torn down depends on the whole tree, so there is no shorter way to
know it than to let the same brokers do it, in virtual time and without a network. Ids and addresses are as long as they
are live, so that bytes are what they will be.

Owns: the copy of the network. Must not know: doors, or what is made of the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reknit.cli._problem import BadInput
from reknit.core.broker import BrokerOptions
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.history import Deed
from reknit.core.overlay.shapes import Edge
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.wire.codec import decode
from reknit.wire.messages import ChangeMessage, Data, Message

__all__ = ["Said", "rehearse"]

REST_S_MAX = 120.0
"""Virtual seconds within which the copy must come to rest."""
QUIET_S = 3_600.0
"""No link says anything by itself for so long."""
LIFE = 1 << 40
"""The number of a life, of which ids are made: milliseconds since 1970 have as many digits."""


@dataclass(slots=True)
class Said:
    words: list[ChangeMessage] = field(default_factory=list)
    """About the change itself, as the brokers' histories count them."""
    besides: list[Message] = field(default_factory=list)
    """What follows from it: subscriptions, and words about the link that is left."""
    brokers: dict[str, None] = field(default_factory=dict)
    """Who said or heard something."""


def rehearse(
    edges: Sequence[Edge],
    wanted: Mapping[str, Sequence[Pattern]],
    routing: RoutingName,
    covering: bool,
    move: Deed,
    address: str,
) -> Said:
    """``wanted``: by broker, what its clients want. ``BadInput`` if the brokers would refuse the replacement.

    ``address``: where the new link leads to.
    """
    links = LinkOptions(heartbeat_s=QUIET_S, silence_s_max=2 * QUIET_S, progress_s_max=2 * QUIET_S)
    options = BrokerOptions(routing=routing, covering=covering, founded=True, links=links)
    cluster = Cluster(edges, options, NetworkOptions(), "rehearsal")
    for node in cluster.nodes.values():
        node.incarnation = LIFE
    cluster.start_all()
    for name, patterns in wanted.items():
        if name in cluster.nodes:
            cluster.attach(name, f"clients of {name}", patterns)
    cluster.settle(REST_S_MAX)
    said = Said()
    cluster.sent = lambda sender, receiver, frame: _hear(said, sender, receiver, frame)
    head, tail = move.brokers[: move.near + 1], move.brokers[move.near + 1 :]
    request = cluster.replace_link(move.strategy, head, tail, address)
    cluster.settle(REST_S_MAX)
    if error := cluster.replies.get(request, "it would not come to an end"):
        raise BadInput(f"{move}: {error}")
    return said


def _hear(said: Said, sender: str, receiver: str, frame: bytes) -> None:
    data = decode(frame)
    if isinstance(data, Data):
        said.words += [each for each in data.messages if isinstance(each, ChangeMessage)]
        said.besides += [each for each in data.messages if not isinstance(each, ChangeMessage)]
        said.brokers.update({sender: None, receiver: None})
