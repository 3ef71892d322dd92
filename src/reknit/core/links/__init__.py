"""A FIFO, loss-free, resumable channel to each neighbour."""
