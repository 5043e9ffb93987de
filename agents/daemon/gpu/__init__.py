"""NVIDIA GPUs: inventory, claims, health, burn-in and wipe."""
