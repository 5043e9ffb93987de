"""Registration of the app with Django."""

from django.apps import AppConfig


class VastConfig(AppConfig):
    name = "vast"
    label = "vast"
    verbose_name = "Vast API"
