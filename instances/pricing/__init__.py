"""Price plans: arithmetic without a database."""
