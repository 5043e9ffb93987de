"""Registers the app with Django."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"
    label = "storage"
    verbose_name = "Storage"
