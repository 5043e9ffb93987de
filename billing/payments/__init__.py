"""Card payments: top-ups, refunds, disputes, automatic top-ups."""
