"""SSH keys of users."""
