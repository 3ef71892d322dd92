"""What all brokers of a tree know alike: a book of which each has a copy."""
