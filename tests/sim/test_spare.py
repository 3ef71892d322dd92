"""Who may be lost for good: the others must still be able to find each other."""

from __future__ import annotations

from reknit.core.broker import BrokerOptions
from reknit.core.overlay.options import RepairOptions
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.sim.spare import can_part, can_spare


def test_whom_somebody_needs_to_find_back_is_not_lost_as_well() -> None:
    """Of b3, which is lost, b4 knows b2 as the only other neighbour."""
    options = BrokerOptions(observe=True, founded=True, gate_s_max=1000.0, repair=RepairOptions(lost_s=5.0))
    edges = [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]
    cluster = Cluster(edges, options, NetworkOptions(), "spare")
    cluster.start_all()
    assert cluster.settle(30.0)
    assert all(can_spare(cluster, name) for name in cluster.nodes)
    cluster.lose("b3")
    broker = cluster.nodes["b2"].broker
    assert broker is not None
    for _ in broker.overlay.cut("b3", "lost", keep=False, lost=True):  # it has noticed, and b4 has not
        pass
    assert not can_spare(cluster, "b2")
    assert can_spare(cluster, "b1")


def test_a_link_may_be_lost_where_one_end_reaches_a_neighbour_of_the_other() -> None:
    options = BrokerOptions(observe=True, founded=True, gate_s_max=1000.0, repair=RepairOptions(lost_s=5.0))
    cluster = Cluster([("b1", "b2"), ("b2", "b3")], options, NetworkOptions(), "spare")
    cluster.start_all()
    assert cluster.settle(30.0)
    assert can_part(cluster, "b1", "b2")
    assert not can_part(cluster, "b1", "b3")
    cluster.network.sever("b2", "b3")
    assert not can_part(cluster, "b1", "b2")
