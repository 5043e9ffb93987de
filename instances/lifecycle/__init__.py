"""Start, stop, resize, re-image and end of instances."""
