"""One module for each service: what it needs to know, the request it wants, and what its answers mean.

They are pure: no database, no clock, no network. `accounts.notification_channels.services` lists them.
"""
