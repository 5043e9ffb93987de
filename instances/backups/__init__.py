"""Backup of the market and its restore."""
