"""Files of instances, read and written through their containers."""
