"""Who is in a community, as its members know: one file for each way to know it, chosen by name."""
