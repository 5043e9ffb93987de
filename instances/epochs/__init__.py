"""Agreement with an agent anew after its journal or the market's database was lost."""
