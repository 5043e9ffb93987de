"""Webhooks: settings, outbox, sending."""
