"""Standing of a renter's wallet, and the steps after its money runs out."""
