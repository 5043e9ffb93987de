"""Hosts that staff have written off."""
