"""Management commands of instances."""
