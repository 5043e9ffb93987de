"""Costs of instances over HTTP."""
