"""The spot market over HTTP."""
