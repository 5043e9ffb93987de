"""Start, stop, resize, re-image and release of instances."""
