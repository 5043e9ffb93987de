"""Launch settings over HTTP."""
