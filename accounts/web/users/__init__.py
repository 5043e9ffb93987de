"""Pages and API of a user's own data, and the adaptation of allauth."""
