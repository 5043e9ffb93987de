"""Release of instances."""
