"""Rates, tariffs and estimates: arithmetic without a database."""
