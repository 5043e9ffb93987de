"""Variables of an account, which clients of Vast call environment variables or secrets."""
