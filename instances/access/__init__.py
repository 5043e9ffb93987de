"""Ways into an instance: credentials, ports, links, logs."""
