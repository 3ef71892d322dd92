"""What the verb ``plan`` consists of: making plans of each kind, their lines for people, and carrying them out."""
