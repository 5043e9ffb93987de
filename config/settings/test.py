"""Settings for tests: fast password hashing, mail in memory, simulated hosts allowed."""

from config.settings.dev import *  # noqa: F403  (settings modules compose by star import)

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_AUTOREFRESH = True
DATABASES["default"]["TEST"] = {"TEMPLATE": "berth_migrated"}  # made by tests/services_plugin.py
CLOCK_GUARD = False  # tests set the clock freely
