"""A seeded run of random faults against a whole market on two engines: `make chaos`."""
