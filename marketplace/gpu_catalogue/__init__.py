"""Facts about GPU models."""
