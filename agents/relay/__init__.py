"""Relay: holds waiting agents, page events and streams; uses neither Django nor a database."""
