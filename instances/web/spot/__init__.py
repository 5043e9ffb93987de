"""Spot bids over HTTP."""
