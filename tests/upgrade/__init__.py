"""An upgrade from another version with running instances: `make upgrade-drill`."""
