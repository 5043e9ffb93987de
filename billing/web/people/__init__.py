"""Staff panel of ties between accounts."""
