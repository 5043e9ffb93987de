"""Meters and reserved terms of instances."""
