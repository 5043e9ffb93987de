"""Pages and API of the GPU guide."""
