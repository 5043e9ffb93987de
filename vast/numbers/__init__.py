"""Short integers in place of the UUIDs of other apps."""
