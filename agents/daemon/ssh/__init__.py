"""The SSH server for images without one."""
