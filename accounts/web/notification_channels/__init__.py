"""Pages and API of notification channels."""
