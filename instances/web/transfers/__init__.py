"""Moves of instances over HTTP."""
