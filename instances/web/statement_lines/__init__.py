"""Statement lines over HTTP."""
