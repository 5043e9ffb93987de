"""Backup and restore of the whole market."""
