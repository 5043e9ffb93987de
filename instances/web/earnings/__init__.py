"""Earnings over HTTP."""
