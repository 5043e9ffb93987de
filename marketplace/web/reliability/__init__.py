"""Pages and API of reliability."""
