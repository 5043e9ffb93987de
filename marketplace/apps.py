"""Registration of the app with Django."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MarketplaceConfig(AppConfig):
    name = "marketplace"
    label = "marketplace"
    verbose_name = _("Market")

    def ready(self) -> None:
        """Whoever reads a row knows every message that may be in it."""
        import_module("marketplace.host_messages")
