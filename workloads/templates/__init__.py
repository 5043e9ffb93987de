"""Launch templates: what a renter starts from, in versions."""
