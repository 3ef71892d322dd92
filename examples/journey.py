"""Follow an event through a network in the simulator: no sockets, no waiting, the code of the real brokers.

python examples/journey.py
"""

from reknit.core.broker import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind

LINKS = [("b1", "b2"), ("b2", "b3"), ("b2", "b4")]

network = Cluster(LINKS, BrokerOptions(observe=True, founded=True), NetworkOptions(), seed="journey")
network.start_all()
network.attach("b3", "map", [Pattern.parse("city/+/traffic", "severity >= 3")])
network.attach("b4", "archive", [Pattern.parse("city/lima/#")])
network.settle(within_s=60)

network.attach("b1", "sensor")
network.publish("b1", "sensor", Event("city/oslo/traffic", b"jam", attributes={"severity": 4}))
network.settle(within_s=60)

for record in network.records:
    if record.kind in (Kind.PUBLISHED, Kind.FORWARDED, Kind.DELIVERED, Kind.SETTLED):
        print(record.node, record.kind, record.peer or record.client)
