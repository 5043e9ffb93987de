"""Pages and API of prices."""
