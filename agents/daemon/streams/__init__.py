"""Terminals, ports and files of instances, carried through the relay."""
