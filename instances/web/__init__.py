"""Pages and API of instances."""
