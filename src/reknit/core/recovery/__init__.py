"""What was lost comes back: numbers, gaps, caches and gossip."""
