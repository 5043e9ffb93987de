"""Instances in statements."""
