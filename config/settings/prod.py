"""Settings for production: every secret comes from the environment, every cookie is for TLS only."""

from config.env import read_bool, read_int, read_secret, read_text
from config.settings.base import *  # noqa: F403  (settings modules compose by star import)

SECURE_SSL_REDIRECT = read_bool("SECURE_SSL_REDIRECT", True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Browsers accept a cookie with this prefix only from this very host, over TLS: no page of a subdomain can set one.
SESSION_COOKIE_NAME = "__Host-sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken"
LANGUAGE_COOKIE_SECURE = True
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True

# File names with a hash of the content, so that browsers may cache them for ever, and compressed copies.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

DEFAULT_FROM_EMAIL = SERVER_EMAIL = read_text("MAIL_FROM")
EMAIL_HOST = read_text("MAIL_HOST")
EMAIL_PORT = read_int("MAIL_PORT", 587)
EMAIL_HOST_USER = read_text("MAIL_USER", "")
EMAIL_HOST_PASSWORD = read_secret("MAIL_PASSWORD", "")
EMAIL_USE_TLS = read_bool("MAIL_TLS", True)
