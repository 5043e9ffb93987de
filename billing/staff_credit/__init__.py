"""Credit granted by staff, above a sum by two of them."""
