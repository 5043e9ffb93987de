"""Parts that several features of instances use."""
