"""Pages and API of hosts."""
