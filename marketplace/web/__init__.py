"""Pages and API of the marketplace."""
