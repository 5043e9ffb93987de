"""Clones and migrations of instances."""
