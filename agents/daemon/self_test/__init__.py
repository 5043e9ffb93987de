"""The self-test of a host."""
