"""Waiting searches over HTTP."""
