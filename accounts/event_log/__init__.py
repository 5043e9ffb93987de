"""What was done to or with an account."""
