"""Strict readers of environment variables: an invalid value stops the program."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from common.currencies import ISO_4217

_MOST_WEBHOOK_SECRETS = 4
_SEED_DIGITS = 64
_PORTS = 65_536


def read_text(name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"Set the environment variable {name}.")
    return value


def read_bool(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value not in ("True", "False"):
        raise ImproperlyConfigured(f"{name} must be True or False, not {value!r}.")
    return value == "True"


def read_int(name: str, default: int) -> int:
    value = os.environ.get(name)
    if value is None:
        return default
    try:
        return int(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from error


def read_currency(name: str, default: str) -> str:
    """Read a currency code of ISO 4217."""
    code = read_text(name, default).upper()
    if code not in ISO_4217:
        raise ImproperlyConfigured(f"{name} must be an ISO 4217 code, such as USD or CNY, not {code!r}.")
    return code


def read_port_range(name: str) -> tuple[int, int] | None:
    """Read FIRST-LAST, both included; None if it is not set."""
    value = os.environ.get(name, "")
    if not value:
        return None
    first, _, last = value.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) < _PORTS):
        raise ImproperlyConfigured(f"{name} must be FIRST-LAST, such as 20000-29999, not {value!r}.")
    return int(first), int(last)


def read_list(name: str, default: list[str]) -> list[str]:
    value = os.environ.get(name)
    return default if value is None else [item.strip() for item in value.split(",") if item.strip()]


def read_secret(name: str, default: str | None = None) -> str:
    """Read a secret from NAME, or from the file that NAME_FILE names (Docker secrets)."""
    file = os.environ.get(f"{name}_FILE")
    if file is not None:
        return Path(file).read_text(encoding="utf-8").strip()
    return read_text(name, default)


def read_object_store(name: str) -> dict[str, Any] | None:
    """Read a bucket from NAME_ENDPOINT, _REGION, _BUCKET, _PREFIX, _KEY_ID, _SECRET and _VIRTUAL_HOST.

    It is None without an endpoint.
    """
    endpoint = read_text(f"{name}_ENDPOINT", "").rstrip("/")
    if not endpoint:
        return None
    if not endpoint.startswith(("https://", "http://")) or "/" in endpoint.partition("://")[2]:
        raise ImproperlyConfigured(f"{name}_ENDPOINT must be https:// and a host, not {endpoint!r}.")
    return {
        "endpoint": endpoint,
        "region": read_text(f"{name}_REGION", "us-east-1"),
        "bucket": read_text(f"{name}_BUCKET"),
        "prefix": read_text(f"{name}_PREFIX", "").strip("/"),
        "key_id": read_text(f"{name}_KEY_ID"),
        "secret": read_secret(f"{name}_SECRET"),
        "virtual_host": read_bool(f"{name}_VIRTUAL_HOST", False),
    }


def read_signing_key(name: str) -> str:
    """Read the seed of an Ed25519 key, as hex digits."""
    key = read_secret(name)
    if len(key) != _SEED_DIGITS or set(key) - set("0123456789abcdef"):
        raise ImproperlyConfigured(f"{name} must be {_SEED_DIGITS} hex digits: `openssl rand -hex 32` makes one.")
    return key


def read_stripe_key(name: str) -> str:
    """Read Stripe's secret or restricted key; empty: card payments are off."""
    key = read_secret(name, "")
    if key and not key.startswith(("sk_", "rk_")):
        raise ImproperlyConfigured(f"{name} must be a secret key (sk_…) or a restricted key (rk_…) of Stripe.")
    return key


def read_webhook_secrets(name: str, *, needed: bool) -> list[str]:
    """Read the comma-separated secrets of Stripe's webhooks.

    There is one for the account's own endpoint, one for connected accounts, and two of each during a rotation.
    Without any, no payment is credited.
    """
    secrets = [part.strip() for part in read_secret(name, "").split(",") if part.strip()]
    if needed and not secrets:
        raise ImproperlyConfigured(f"Set {name} too: only signed Stripe messages are trusted.")
    wrong = [secret for secret in secrets if not secret.startswith("whsec_")]
    if wrong or len(secrets) > _MOST_WEBHOOK_SECRETS:
        raise ImproperlyConfigured(f"{name} must be one to four secrets (whsec_…), separated by commas.")
    return secrets


def database_from_url(url: str) -> dict[str, object]:
    """Return Django's DATABASES entry for a postgresql:// URL; `?host=/dir` names a Unix socket's folder."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://; PostgreSQL is the only database.")
    socket = parse_qs(parts.query).get("host", [""])[0]
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/") or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or socket,
        "PORT": str(parts.port or ""),
    }
