"""Quotes and rentals."""
