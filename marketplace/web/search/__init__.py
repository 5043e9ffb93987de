"""The market over HTTP."""
