"""Searches in the query syntax of Vast."""
