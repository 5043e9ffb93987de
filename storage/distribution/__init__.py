"""Registries of images as the market asks them: names, manifests, logins (the OCI distribution protocol, reading alone)."""

from storage.distribution.client import Login, check_login, read_image
from storage.distribution.manifests import Found
from storage.distribution.names import ImageName, parse_name, parse_registry

__all__ = ["Found", "ImageName", "Login", "check_login", "parse_name", "parse_registry", "read_image"]
