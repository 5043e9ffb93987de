"""Production: every secret comes from the environment, every cookie is for TLS only."""

from config.env import read_bool, read_int, read_secret, read_text
from config.settings.base import *  # noqa: F403  (settings modules compose by star import)

SECURE_SSL_REDIRECT = read_bool("SECURE_SSL_REDIRECT", True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# With this prefix a browser takes a cookie from this very name alone, over TLS: no page of a subdomain can plant one.
SESSION_COOKIE_NAME = "__Host-sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken"
LANGUAGE_COOKIE_SECURE = True
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True

# Names with a hash of the content, so that browsers keep each file for good, and compressed copies beside them.
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
