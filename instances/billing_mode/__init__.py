"""Changes between hourly, reserved and spot."""
