"""A person's profile."""
