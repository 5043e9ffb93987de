"""Interfaces to a container engine, and a simulated engine."""
