"""One file per flow, each with a constant ``FLOW``."""
