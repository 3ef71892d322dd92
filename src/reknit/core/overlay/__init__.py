"""Who the neighbours are, and every change of the tree."""
