"""API and charts of the spot market."""
