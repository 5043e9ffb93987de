"""Sessions in HTTP: cookies, middleware, signals of log-ins."""
