"""Shell 1: the core in virtual time, with one seed for everything."""
