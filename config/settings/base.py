"""Settings that are the same everywhere. Constants of the domain are in each app's `constants.py`."""

from pathlib import Path
from urllib.parse import urlsplit

from agents.protocol.log_lines import LINE
from common.redis_client import NO_RETRY
from config.env import (
    database_from_url,
    read_currency,
    read_int,
    read_list,
    read_object_store,
    read_port_range,
    read_secret,
    read_signing_key,
    read_stripe_key,
    read_text,
    read_webhook_secrets,
)
from config.middleware.page_headers import site_policy
from config.settings.panels import UNFOLD, UNFOLD_HOST  # noqa: F401  (read by name)
from config.timeouts import broker_options, connection_options

BASE_DIR = Path(__file__).resolve().parent.parent.parent

SECRET_KEY = read_secret("SECRET_KEY")
RELAY_SECRET = read_secret("RELAY_SECRET")
DEBUG = False
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", [])
CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS", [])

SITE_URL = read_text("SITE_URL", "http://127.0.0.1:8000")
# Where browsers and agents reach the relay. Empty: a reverse proxy serves it on the site's own origin.
RELAY_URL = read_text("RELAY_URL", "")
# Name and port below which each web program of an instance gets its own host name at the relay
# (<instance>-<port>.<this>), separate from all pages of the market. Empty: links lead straight to the host.
RELAY_WEB_HOST = read_text("RELAY_WEB_HOST", "")
# For hosts behind NAT: the relay's ports that lead to their instances, and the relay's name for renters. None: only
# hosts with a public address are accepted.
RELAY_TCP_PORTS = read_port_range("RELAY_TCP_PORTS")
RELAY_TCP_ADDRESS = read_text("RELAY_TCP_ADDRESS", urlsplit(RELAY_URL or SITE_URL).hostname)
MARKET_CURRENCY = read_currency("MARKET_CURRENCY", "USD")
# Prices include tax. This rate, in hundredths of a percent of the net price, is shown as included tax on invoices.
MARKET_TAX_BPS = read_int("MARKET_TAX_BPS", 0)
MARKET_SELLER = {
    "name": read_text("MARKET_SELLER_NAME", "Berth"),
    "address": read_text("MARKET_SELLER_ADDRESS", ""),  # lines separated by semicolons
    "tax_id": read_text("MARKET_SELLER_TAX_ID", ""),
}
# How old the copy of the market may be that a search uses, in milliseconds; 0: always up to date.
MARKET_MAX_AGE_MS = read_int("MARKET_MAX_AGE_MS", 0)
# Simulated hosts and GPUs are refused at enrolment unless this is on (development and tests only).
SIMULATION_ALLOWED = False
# Number of our own reverse proxies before the web processes; only these may name a client's address.
TRUSTED_PROXIES = read_int("TRUSTED_PROXIES", 0)
# API requests per minute, for each token or user, and for each address without one.
API_RATE_USER = read_int("API_RATE_USER", 6_000)
API_RATE_ANONYMOUS = read_int("API_RATE_ANONYMOUS", 1_200)
# API requests per minute with an unknown, revoked or expired token, for each address; beyond it, no token is looked up.
API_RATE_FAILED = read_int("API_RATE_FAILED", 60)
# Opens /metrics to a Prometheus on another machine. Empty: only to staff and this machine.
METRICS_TOKEN = read_secret("METRICS_TOKEN", "")
# Private networks that users' webhooks and registries may be in (CIDR, separated by commas). None: only public
# addresses.
OUTBOUND_ALLOWED_NETWORKS = read_list("OUTBOUND_ALLOWED_NETWORKS", [])
# The image with which hosts copy disks to and from object storage: images/sync.
SYNC_IMAGE = read_text("SYNC_IMAGE", "berth/sync:1")
# Folder of the agent's release that this market serves (scripts/agent_release.py), and the public key that verifies it,
# in hex. "": hosts get the agent in another way.
AGENT_RELEASE_DIR = read_text("AGENT_RELEASE_DIR", "")
AGENT_RELEASE_KEY = read_text("AGENT_RELEASE_KEY", "")
# Registry for images that are saved from instances, as engines name it ("registry.example.org"). "": images stay on
# their hosts.
MARKET_REGISTRY = read_text("MARKET_REGISTRY", "")
# P-256 key and certificate (PEM) with which the market signs tokens for its registry.
MARKET_REGISTRY_KEY = read_secret("MARKET_REGISTRY_KEY", "")
MARKET_REGISTRY_CERTIFICATE = read_secret("MARKET_REGISTRY_CERTIFICATE", "")
# Signs usage records. The public keys of its predecessors stay published with its own.
LEDGER_SIGNING_KEY = read_signing_key("LEDGER_SIGNING_KEY")
LEDGER_FORMER_KEYS = read_list("LEDGER_FORMER_KEYS", [])
# Where the heads of the ledger's seals are stored outside of the database. "": nowhere.
LEDGER_ANCHOR_DIR = read_text("LEDGER_ANCHOR_DIR", "")
LEDGER_ANCHOR_STORE = read_object_store("LEDGER_ANCHOR_STORE")
# Audit checks of apps above `billing`, which `billing` itself cannot import; each adds its findings to every audit.
LEDGER_CHECKS_BESIDE = ["instances.metering.findings.metering_findings"]
# Finds launch templates, which an app above `instances` stores.
LAUNCH_TEMPLATE_FINDER = "workloads.templates.orders.template_for_order"
# Whether metering and sweeps pause while a machine's clock has jumped (common.clock_guard).
CLOCK_GUARD = True
# Receivers of the nightly audit of the ledger with its head. None: all active superusers.
OPERATOR_MAIL = read_list("OPERATOR_MAIL", [])
# Without a key, card payments are off. During a rotation both webhook secrets are valid, separated by a comma.
STRIPE_SECRET_KEY = read_stripe_key("STRIPE_SECRET_KEY")
STRIPE_WEBHOOK_SECRETS = read_webhook_secrets("STRIPE_WEBHOOK_SECRETS", needed=bool(STRIPE_SECRET_KEY))
STRIPE_API_BASE = read_text("STRIPE_API_BASE", "https://api.stripe.com")
STRIPE_CONNECT_ORIGIN = read_text("STRIPE_CONNECT_ORIGIN", "https://connect.stripe.com")
STRIPE_CHECKOUT_ORIGIN = read_text("STRIPE_CHECKOUT_ORIGIN", "https://checkout.stripe.com")

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "csp",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "accounts",
    "billing",
    "marketplace",
    "storage",
    "instances",
    "workloads",
    "vast",
    "agents.gateway",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.printable_requests.StorableText",
    "config.middleware.api_fast_path.ApiFastPathMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.page_headers.PageLocale",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.web.sessions.middleware.SessionAge",
    "config.middleware.user_language.UserLanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.middleware.page_headers.PageHeaders",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "config.error_pages.ErrorPageMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "config.money_tags",
                "config.tags",
                "config.error_pages",
                "config.host_quotes",
                "common.sentence_gaps",
                "common.messages.rendering",
                "billing.ledger_label_translations",
                "marketplace.self_tests.requirement_messages",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "config.context.site_context",
            ],
        },
    },
]

DATABASES = {
    "default": {
        **database_from_url(read_secret("DATABASE_URL")),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": connection_options(),
    },
}
# The URL for whose role `grant_app_role` grants rights; only migrations set it, and run as the owner of the tables.
APP_DATABASE_URL = read_secret("APP_DATABASE_URL", "")
REDIS_URL = read_secret("REDIS_URL")
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1, "retry": NO_RETRY},
    },
}

CONTENT_SECURITY_POLICY = site_policy(RELAY_URL, RELAY_WEB_HOST)
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/instances"
ACCOUNT_ADAPTER = "accounts.web.users.allauth_adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "signup": "accounts.web.users.allauth_forms.SignupForm",
    "add_email": "accounts.web.users.allauth_forms.AddEmailForm",
    "change_password": "accounts.web.users.allauth_forms.ChangePasswordForm",
}
STAFF_SECOND_FACTOR = True  # without one, the panel and all other staff rights are closed
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before e-mail addresses are changed
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_DEFAULT_HTTP_PROTOCOL = SITE_URL.partition(":")[0]
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Berth] "
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_LOGIN_ON_PASSWORD_RESET = False
ACCOUNT_SESSION_REMEMBER = True
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXIES

EMAIL_TIMEOUT = 10  # seconds for each step of the exchange with the mail server
ACCOUNT_LOGOUT_REDIRECT_URL = "/"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Berth"
MFA_TOTP_TOLERANCE = 1  # one step of 30 s either way: a phone's clock, and the time to type (RFC 6238, section 5.2)

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.web.authentication.TokenAuthentication",
        "accounts.web.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.web.permissions.HasScope"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.web.throttling.RequestRate"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "common.http.problems.JsonOnly",
    "DEFAULT_RENDERER_CLASSES": ["common.http.problems.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.http.bodies.JsonBody"],
    "DEFAULT_METADATA_CLASS": None,
    "NUM_PROXIES": TRUSTED_PROXIES,
    "DEFAULT_PAGINATION_CLASS": "common.http.problems.CursorPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "common.http.problems.problem_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Berth API",
    "DESCRIPTION": "Rent and offer GPUs. Money is a decimal string, times are RFC 3339 in UTC, errors are RFC 9457.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "BillingModeEnum": "marketplace.search.language.fields.BILLING_MODES",
        "InvoiceKindEnum": ["invoice", "credit_note"],
        "TopUpStateEnum": "billing.states.PaymentState",
        "AlertKindEnum": [
            *("gpu_idle", "disk_full", "inodes_full", "memory_high", "out_of_memory", "gpu_fault"),
            *("path_broken", "data_lost", "paused", "throttled"),
        ],
        "DiskKindEnum": ["volume", "disk"],
        "ScheduleActionEnum": ["start", "stop"],
        "WatchActionEnum": ["tell", "rent"],
        "WebhookKindEnum": "accounts.constants.WEBHOOK_KINDS",
        "ChannelKindEnum": "accounts.constants.CHANNEL_KINDS",
        "MaintenanceCategoryEnum": ["power", "internet", "disk", "gpu", "software", "other"],
        "TemplateCategoryEnum": ["development", "training", "inference", "images", "data", "other"],
        "OutputEncodingEnum": ["utf-8", "base64"],
        "ReadinessTypeEnum": ["http", "tcp"],
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "common.http.openapi.document_problems",
    ],
}

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_TIME_LIMIT = 120
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# The web's hints to the jobs are not worth waiting for: a sweep finds the same work.
CELERY_BROKER_CONNECTION_TIMEOUT = 2
CELERY_BROKER_TRANSPORT_OPTIONS = broker_options()
CELERY_BEAT_SCHEDULE_FILENAME = read_text("BEAT_SCHEDULE", "celerybeat-schedule")
WORKER_CONCURRENCY = read_int("WORKER_CONCURRENCY", 2)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "agents.protocol.log_lines.OneLineFormatter", "fmt": LINE}},
    "filters": {"secrets": {"()": "common.http.secret_paths.SecretPaths"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["secrets"]}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"stripe": {"level": "WARNING"}},  # otherwise it logs each request
}
