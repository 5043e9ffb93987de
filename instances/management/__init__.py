"""Commands of instances."""
