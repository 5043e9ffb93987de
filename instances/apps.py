"""Registration of the app with Django."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class InstancesConfig(AppConfig):
    name = "instances"
    label = "instances"
    verbose_name = _("Instances")

    def ready(self) -> None:
        """Whoever reads a row knows every message that may be in it."""
        import_module("instances.core.event_messages")
        import_module("instances.core.money_messages")
