"""Access to an instance: credentials, ports, web links, logs."""
