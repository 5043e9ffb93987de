"""Constants of the composition root, with units."""

from datetime import timedelta

EVENT_TICKET_LIFETIME = timedelta(hours=12)
