"""Facts and samples of the host and its instances."""
