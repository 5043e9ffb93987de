"""The wire between a host's agent and the control plane, written once; standard library alone."""
