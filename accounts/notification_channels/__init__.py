"""Notification channels: chats that receive what happened, in words, through an outbox."""
