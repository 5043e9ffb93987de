"""Pages and API of the market."""
