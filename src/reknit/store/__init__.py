"""What a broker keeps for its next life: entries on shelves, written down before anything is acknowledged."""
