"""Management commands of billing."""
