"""Transfers of instances and volumes between hosts."""
