"""A person's own things over HTTP, and how allauth works here."""
