"""Reconciliation: a plan from the desired and the observed state, and workers that carry it out."""
