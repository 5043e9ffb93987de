"""Object-storage sync over HTTP."""
