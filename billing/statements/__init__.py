"""Statements, and explanations of their charges."""
