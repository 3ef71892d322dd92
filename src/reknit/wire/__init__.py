"""Messages between brokers, and their bytes."""
