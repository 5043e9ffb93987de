"""Statement lines about instances."""
