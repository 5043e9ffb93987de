"""Pages and API of webhooks."""
