"""Asks: an offer with a number of GPUs, a mode and a price, under a short number."""
