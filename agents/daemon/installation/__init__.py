"""The agent on its machine: service, upgrade, uninstall."""
