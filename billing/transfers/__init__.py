"""Money moved between the wallets of a team and its members."""
