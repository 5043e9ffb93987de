"""Docker Engine as the agent's container runtime."""
