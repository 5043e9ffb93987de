"""Statements and explanations of what was charged."""
