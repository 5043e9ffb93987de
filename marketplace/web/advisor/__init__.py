"""API of the advisor."""
