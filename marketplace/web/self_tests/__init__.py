"""Self-tests over HTTP."""
