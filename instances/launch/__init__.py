"""Launch settings: what runs in an instance, and with which environment."""
