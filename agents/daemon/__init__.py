"""The host's agent."""
