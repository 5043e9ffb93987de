"""Checks of whether a machine can be a host, with remedies."""
