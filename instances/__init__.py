"""Renters' instances: quotes, orders, life cycle, access, events and charges."""
