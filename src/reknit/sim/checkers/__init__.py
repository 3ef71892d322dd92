"""Independent checkers: each reads a trace, and nothing else, and says what is wrong in it."""
