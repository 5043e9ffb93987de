"""The relay: waiting agents and page events; no Django, no database."""
