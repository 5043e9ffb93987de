"""Imported before anything that needs Django by scripts of this folder: own services, the relay's address, Django ready."""

import os

import django

import tests.services_plugin as services  # starts Redis, and names the services in the environment
from tests.web.serving import free_port

services.start()
RELAY_PORT = free_port()
os.environ["RELAY_URL"] = f"http://127.0.0.1:{RELAY_PORT}"
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the driver of the browser runs an event loop in the main thread
django.setup()
