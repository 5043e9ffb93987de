"""API of teams."""
