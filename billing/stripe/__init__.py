"""Stripe as this market uses it: amounts, shapes, signatures, and the link over HTTP. Nothing here touches the ledger."""
