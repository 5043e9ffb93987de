"""Orders as clients of Vast send them."""
