"""Where an event goes next: strategies, chosen by name."""
