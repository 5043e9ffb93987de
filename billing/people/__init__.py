"""Accounts that belong to one person or share money."""
