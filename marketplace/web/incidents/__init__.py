"""Incidents in the staff panel."""
