"""Moves of instances between hosts."""
