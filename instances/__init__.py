"""The renter's container: quotes, life cycle, access, events."""
