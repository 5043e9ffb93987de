"""Production: every secret comes from the environment, every cookie is for TLS only."""

from config.env import read_bool
from config.settings.base import *  # noqa: F403  (settings modules compose by star import)

SECURE_SSL_REDIRECT = read_bool("SECURE_SSL_REDIRECT", True)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
