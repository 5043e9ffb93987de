"""Reliability over HTTP."""
