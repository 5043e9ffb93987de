"""Supply: hosts, GPUs, offers, leases."""
