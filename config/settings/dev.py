"""Settings for development, never for production: demo users, simulated hosts, mail to the console."""

import os

os.environ.setdefault("SECRET_KEY", "development-only-secret-key-of-berth-not-for-production")
os.environ.setdefault("RELAY_SECRET", "development-only-relay-secret-of-berth")
os.environ.setdefault("LEDGER_SIGNING_KEY", "d5" * 32)
os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1],testserver")

from config.settings.base import *  # noqa: F403  (settings modules compose by star import)

DEBUG = False
SIMULATION_ALLOWED = True
EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
SESSION_COOKIE_SECURE = False
CSRF_COOKIE_SECURE = False
# The demo's operator has no second factor; `make up` says so.
STAFF_SECOND_FACTOR = False
# Benchmarks and tests send requests faster than people and scripts do.
API_RATE_USER = API_RATE_ANONYMOUS = API_RATE_FAILED = 10_000_000
# Serve static files from their sources: no collectstatic in development.
WHITENOISE_USE_FINDERS = True
