"""Earnings of hosts and their payouts."""
