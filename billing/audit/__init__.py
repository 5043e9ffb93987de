"""Runs of the ledger's audit and what they found."""
