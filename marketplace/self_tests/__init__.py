"""Self-tests of hosts: requirements and results."""
