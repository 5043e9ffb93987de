"""Leases: who holds which GPU."""
