"""Object storage sync of instances."""
