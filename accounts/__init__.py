"""Users, API tokens, SSH keys, idempotent requests."""
