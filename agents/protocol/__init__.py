"""Messages between agent and control plane, shared by both; uses the standard library alone."""
