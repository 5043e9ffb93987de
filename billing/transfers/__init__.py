"""Transfers of money between the wallets of a team's members."""
