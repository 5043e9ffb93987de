"""Top-ups by card: payments, refunds, disputes, automatic top-ups."""
