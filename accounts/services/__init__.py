"""Every write of this app, one file per family of use cases."""
