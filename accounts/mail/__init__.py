"""The outbox of mail."""
