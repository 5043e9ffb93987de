"""Lines of statements explained, down to the reports of the hosts that prove them."""
