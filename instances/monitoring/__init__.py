"""Usage of instances, and alerts."""
