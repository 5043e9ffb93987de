"""Access over HTTP."""
