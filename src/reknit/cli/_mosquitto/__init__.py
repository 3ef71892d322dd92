"""What ``pub``, ``sub`` and ``rr`` share: mosquitto's letters, and what they mean.

Owns: the flags of a connection, ``-D``, ``-L``, what a message is made of, and the formats of ``-F``. Must not know:
what is published or subscribed to.
"""
