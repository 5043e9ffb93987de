"""The market's snapshot in memory, and the search over it."""
