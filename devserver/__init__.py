"""Development stack: everything that `make up` starts, on loopback, from Python wheels."""
