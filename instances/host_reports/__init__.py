"""Application of agents' reports to instances."""
