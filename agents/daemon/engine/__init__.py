"""What the agent asks of a container engine, and the simulated one."""
