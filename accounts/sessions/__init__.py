"""Sessions, devices, and the end of access."""
