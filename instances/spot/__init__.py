"""Spot bids, their clearing and preemption."""
