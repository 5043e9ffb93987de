"""Hosts: enrolment, inventory, offers, incidents, maintenance, write-offs."""
