"""Agreement with hosts after the market's database was restored or an agent's journal was lost."""
