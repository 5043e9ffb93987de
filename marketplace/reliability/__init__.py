"""Reliability of hosts and its measurement."""
