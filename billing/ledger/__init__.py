"""The double-entry ledger: postings, wallets, transfers, seals, anchors."""
