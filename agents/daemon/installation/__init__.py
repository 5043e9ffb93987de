"""Installation of the agent on its machine: service, upgrade and uninstall."""
