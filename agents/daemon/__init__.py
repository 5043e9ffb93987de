"""The host's agent."""

__version__ = "0.1.0"
