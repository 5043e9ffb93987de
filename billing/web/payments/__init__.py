"""Payments over HTTP."""
