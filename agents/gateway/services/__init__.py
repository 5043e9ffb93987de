"""Use cases of the gateway that write, one module per family."""
