"""Volumes of instances."""
