"""NVIDIA GPUs: inventory, claims, health, burn-in, wipe."""
