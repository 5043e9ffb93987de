"""Check of the developer's own servers, given by their URLs, before anything is started."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import psycopg2
from django.core.exceptions import ImproperlyConfigured
from redis import RedisError

from common.redis_client import connect_to
from config.env import database_from_url

ANSWER_S: Final = 5


class StartFailed(Exception):
    """The stack cannot start; the text says why and what to do."""


def check_servers(environment: Mapping[str, str]) -> None:
    """Check that the servers of DATABASE_URL and REDIS_URL answer, as far as these are set.

    Raises:
        StartFailed: One cannot be used.
    """
    for name, (server, question) in _SERVERS.items():
        if name not in environment:
            continue
        try:
            question(environment[name])
        except (ImproperlyConfigured, ValueError, psycopg2.Error, RedisError) as error:
            raise StartFailed(
                f"{name} is set, and the {server} that it names cannot be used: {' '.join(str(error).split())} "
                f"Start that server or correct the address; with `unset {name}`, Berth brings a {server} of its own."
            ) from error


def _check_postgres(url: str) -> None:
    settings = database_from_url(url)
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    options: dict[str, Any] = {ours: settings[theirs] for ours, theirs in names.items() if settings[theirs]}
    psycopg2.connect(connect_timeout=ANSWER_S, **options).close()


def _check_redis(url: str) -> None:
    with connect_to(url, timeout_s=ANSWER_S) as redis:
        redis.ping()


_SERVERS: Final[Mapping[str, tuple[str, Callable[[str], None]]]] = {
    "DATABASE_URL": ("PostgreSQL", _check_postgres),
    "REDIS_URL": ("Redis", _check_redis),
}
