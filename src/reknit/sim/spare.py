"""Whom a network can lose for good, so that the others can still know what to do.

Owns: that question. Must not know: when it is asked.
"""

from __future__ import annotations

from reknit.sim.cluster import Cluster

__all__ = ["can_part", "can_spare"]


def can_spare(cluster: Cluster, name: str) -> bool:
    """Its neighbours live, and each knows of all others; what nobody was told, nobody can repair."""
    broker = cluster.nodes[name].broker
    near = [] if broker is None else [cluster.nodes[peer].broker for peer in broker.overlay.neighbours()]
    if broker is None:
        return False
    names = {each.name for each in near if each is not None}
    known = [{each.name, *each.replacing.repair.others(name)} for each in near if each is not None]
    return len(known) == len(near) and all(names <= each for each in known) and not _is_the_last_way(cluster, name)


def _is_the_last_way(cluster: Cluster, name: str) -> bool:
    """Somebody has lost a neighbour, and of all whom it could turn to only this one lives."""
    losers = [
        (node.broker, peer)
        for node in cluster.nodes.values()
        if node.broker is not None
        for peer in node.broker.links.of
        if cluster.nodes[peer].lost
    ]
    ways = [list(filter(cluster.is_alive, broker.replacing.repair.others(peer))) for broker, peer in losers]
    return [name] in ways


def can_part(cluster: Cluster, one: str, other: str) -> bool:
    """There is another way between these neighbours: one of them can reach a neighbour of the other.

    A broker loses one link at most: cut off from all that it knows, it could find nobody.
    """
    for near, far in ((one, other), (other, one)):
        broker = cluster.nodes[near].broker
        if broker is None or broker.overlay.swaps.involves(far) or broker.overlay.link(far) is None:
            return False
    lost = cluster.network.has_lost
    ways = [by for near, far in ((one, other), (other, one)) for by in _others(cluster, near, far)]
    return not lost(one) and not lost(other) and any(not lost(by) for by in ways)


def _others(cluster: Cluster, near: str, far: str) -> list[str]:
    broker = cluster.nodes[near].broker
    return [] if broker is None else list(broker.replacing.repair.others(far))
