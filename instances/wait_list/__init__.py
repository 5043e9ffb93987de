"""Searches that wait for a GPU."""
