"""What every feature of an instance uses."""
