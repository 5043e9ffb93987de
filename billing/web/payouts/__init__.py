"""Payouts over HTTP."""
