"""Django configuration of the app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GatewayConfig(AppConfig):
    name = "agents.gateway"
    label = "agent_gateway"
    verbose_name = _("Agent gateway")
