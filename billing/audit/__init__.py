"""Runs of the ledger's audit and their findings."""
