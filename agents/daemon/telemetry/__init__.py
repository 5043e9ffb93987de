"""Facts about the host, and samples of its instances."""
