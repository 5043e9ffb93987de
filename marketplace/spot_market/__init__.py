"""Clearing of the spot market."""
