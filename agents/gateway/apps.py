"""Registers the app with Django."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "agents.gateway"
    label = "agent_gateway"
    verbose_name = "Agent gateway"
