"""Terminals, ports and files of instances, served through the relay."""
