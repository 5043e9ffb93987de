"""Pages and API of billing."""
