"""Composition root of the market: the only package that imports every app."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
