"""Session cookies, middleware, and signal receivers of log-ins."""
