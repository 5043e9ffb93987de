"""Management commands of instances, one per module."""
