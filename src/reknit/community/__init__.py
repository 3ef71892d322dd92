"""Peers without brokers: communities of topics, gossip inside them, a few messages upward (CAMCAST).

Owns: the protocol of a peer, without I/O, behind the same kind of door as the broker's. Must not know: sockets, the
simulator, or anything of ``core``.
"""
