"""Stripe integration: amounts, objects, signatures and HTTP client.

Nothing here touches the ledger.
"""
