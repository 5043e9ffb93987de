"""Budgets and fault reports over HTTP."""
