"""Middleware of every request."""
