"""Clones and migrations over HTTP."""
