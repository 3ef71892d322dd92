"""How a trace is judged, in plain Python: the pieces that run inside Spark's workers.

Owns: what is owed to a client, what order means, where an event travels in vain. Must not know: Spark, the simulator
and its checkers; it is written anew from what a trace means, so that the two can be held against each other.
"""
