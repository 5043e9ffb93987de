"""Basics without dependencies on the rest of the agent: configuration, journal, files and errors."""
