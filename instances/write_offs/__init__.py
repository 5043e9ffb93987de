"""Settlement of instances on hosts that staff have written off."""
