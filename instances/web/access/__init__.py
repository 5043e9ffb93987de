"""Access to instances over HTTP."""
