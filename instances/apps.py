"""Registers the app with Django."""

from django.apps import AppConfig


class InstancesConfig(AppConfig):
    name = "instances"
    label = "instances"
    verbose_name = "Instances"
