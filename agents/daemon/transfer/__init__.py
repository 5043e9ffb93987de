"""Moves of instances and volumes from host to host."""
