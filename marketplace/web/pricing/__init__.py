"""Prices over HTTP."""
