"""One file per experiment, each with a constant ``EXPERIMENT``; ``reknit.lab.registry`` finds them."""
