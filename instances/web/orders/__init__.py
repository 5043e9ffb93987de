"""Orders over HTTP."""
