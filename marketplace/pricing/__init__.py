"""Prices: rules, history, costs of a run."""
