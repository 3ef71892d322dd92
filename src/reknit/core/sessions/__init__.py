"""Clients' sessions that move from one broker to its neighbour."""
