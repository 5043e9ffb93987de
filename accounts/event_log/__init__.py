"""Log of what was done to or with an account."""
