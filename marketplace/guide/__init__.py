"""Topics of the guide."""
