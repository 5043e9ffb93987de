"""Agent of a host, which runs its instances."""

__version__ = "0.1.0"
