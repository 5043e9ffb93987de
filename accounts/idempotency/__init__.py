"""A request that is repeated with the same key is carried out once."""
