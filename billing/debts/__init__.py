"""Money that renters owe: where it went, and how it is collected."""
