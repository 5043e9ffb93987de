"""Commands of the money."""
