"""Meters and terms of instances."""
