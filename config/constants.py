"""Constants of the composition root, with units."""

from datetime import timedelta

EVENT_TICKET_LIFETIME = timedelta(hours=12)
SCRIPT_TICKET_LIFETIME = timedelta(hours=1)

PROGRAM_PREFIXES = ("/api/", "/agent/")
"""Addresses that answer programs: errors there are problem documents, never pages."""
