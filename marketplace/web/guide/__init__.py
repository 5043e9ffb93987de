"""The guide over HTTP."""
