"""Meters and holds: what runs is held in advance and charged as it is used."""
