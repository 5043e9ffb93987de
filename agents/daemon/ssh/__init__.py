"""SSH server of the agent, for images without one."""
