"""What needs nothing else of the agent: configuration, journal, files, errors."""
