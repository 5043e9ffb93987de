"""Credit granted by staff; large grants need two people."""
