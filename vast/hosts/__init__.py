"""Hosts, as their owners list and price them."""
