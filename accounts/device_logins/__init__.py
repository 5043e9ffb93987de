"""Logins of programs on machines without a browser."""
