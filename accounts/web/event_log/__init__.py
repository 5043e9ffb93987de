"""The log of an account over HTTP."""
