"""Staff panel of links between accounts."""
