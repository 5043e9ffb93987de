"""How reliable a host is, and how that is measured."""
