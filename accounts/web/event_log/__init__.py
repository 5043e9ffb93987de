"""Pages and API of an account's log."""
