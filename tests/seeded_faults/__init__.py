"""Faults of the product that are seeded one at a time, to see that its nearest tests find them: `make seeded-faults`."""
