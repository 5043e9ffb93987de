"""The double-entry ledger: postings, wallets, seals, anchors."""
