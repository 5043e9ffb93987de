"""Retention of the data of stopped instances."""
