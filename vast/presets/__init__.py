"""Launch templates as clients of Vast keep them."""
