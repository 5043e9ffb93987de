"""What requests, replies and outgoing requests have in common."""
