"""P-Grid: a binary tree of keys over all peers, in which everybody finds the members of every topic.

Owns: paths, references, searches, and the members of the topics that fall to this peer. Must not know: communities,
memberships, or events.
"""
