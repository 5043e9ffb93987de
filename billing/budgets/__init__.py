"""Limits on what a renter or a team may spend."""
