"""Leases: exclusive use of GPUs."""
