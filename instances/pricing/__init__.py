"""Price plans and estimates: arithmetic without a database."""
