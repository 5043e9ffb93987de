"""Changes between hourly, tiered, reserved and spot."""
