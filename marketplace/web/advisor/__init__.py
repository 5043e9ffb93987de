"""The advisor over HTTP."""
