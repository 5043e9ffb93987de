"""Meters and holds: money for running sources is held in advance and charged as it is used."""
