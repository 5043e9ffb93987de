"""Pages and API of self-tests."""
