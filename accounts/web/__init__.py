"""Pages and API of accounts, and who asks: authentication, permissions, throttling."""
