"""Tables of what the network saw, and of where people were, on Spark.

Owns: everything that imports Spark. Must not know: brokers, sockets, the simulator; it reads the trace and nothing else
of a network. Brokers never import this package, and work without what it needs (the extra ``spark``).
"""
