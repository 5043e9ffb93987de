"""The Docker Engine as a runtime."""
