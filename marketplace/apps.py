"""Registers the app with Django."""

from django.apps import AppConfig


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    label = "marketplace"
    verbose_name = "Market"
