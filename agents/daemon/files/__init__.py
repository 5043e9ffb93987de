"""Access to the files of instances through their containers."""
