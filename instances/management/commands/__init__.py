"""Commands of instances, one a file."""
