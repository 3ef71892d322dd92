"""Between brokers and communities: a broker that is a member.

Owns: what crosses from one side to the other, once, without I/O. Must not know: sockets, or how either side spreads an
event.
"""
