"""Entry point of the web processes, served by granian: Django behind `config.front`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
os.environ["BERTH_PROCESS"] = "web"  # before the settings are read: see config.timeouts

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from config.front.app import WebFrontEnd

_pages = get_wsgi_application()
# Django imports the views at the first request, which takes seconds; import them before there is one.
_ = get_resolver().url_patterns

application = WebFrontEnd(_pages)
