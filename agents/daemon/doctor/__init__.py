"""What keeps a machine from being a host, and what to do about it."""
