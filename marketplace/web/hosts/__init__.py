"""Hosts over HTTP."""
