"""The command `berth`."""
