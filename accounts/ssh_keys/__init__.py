"""SSH keys of people."""
