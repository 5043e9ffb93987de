"""What hosts and GPUs earn: the ledger's pieces, shared out to the GPUs that were leased then."""
