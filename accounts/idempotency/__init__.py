"""Idempotent requests: repeated with the same key, a request is executed once."""
