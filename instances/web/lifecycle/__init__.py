"""Actions on instances over HTTP."""
