"""Outbox of mail."""
