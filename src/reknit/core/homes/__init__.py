"""Where each client is at home: the one broker of the whole network that has its session."""
