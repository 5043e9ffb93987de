"""Earnings of hosts and GPUs: charges of the ledger, divided among the GPUs that were leased then."""
