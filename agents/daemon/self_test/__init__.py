"""Self-test of a host."""
