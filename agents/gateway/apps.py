"""Django configuration of the app."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GatewayConfig(AppConfig):
    name = "agents.gateway"
    label = "agent_gateway"
    verbose_name = _("Agent gateway")

    def ready(self) -> None:
        """Whoever reads a row knows every message that may be in it."""
        import_module("agents.gateway.agent_messages")
