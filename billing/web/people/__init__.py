"""Ties between accounts in the admin panel."""
