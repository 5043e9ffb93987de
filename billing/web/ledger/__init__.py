"""Seals of the ledger over HTTP."""
