"""Lifetimes and paths of the composition root."""

from datetime import timedelta

EVENT_TICKET_LIFETIME = timedelta(hours=12)
SCRIPT_TICKET_LIFETIME = timedelta(hours=1)

PROGRAM_PREFIXES = ("/api/", "/agent/")
"""Paths for programs: errors there are problem documents, never pages."""
