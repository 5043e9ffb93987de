"""Entry point of the web processes, served by granian: Django behind `config.front`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.prod")
os.environ["BERTH_PROCESS"] = "web"  # before the settings are read: see config.timeouts

from django.core.wsgi import get_wsgi_application

from config.front.app import WebFrontEnd

application = WebFrontEnd(get_wsgi_application())
