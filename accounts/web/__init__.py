"""Pages and API of accounts, with authentication, permissions and throttling."""
