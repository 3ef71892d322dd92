"""From tables to plans: pure functions that cite their source.

Owns: what a change of the tree would save, and what it costs. Must not know: where the numbers come from, or how a
change is made.
"""
