"""Servers of one's own, which the stack is told of by their addresses: asked before anything is started."""

from collections.abc import Mapping

import psycopg2
from redis import Redis, RedisError

ANSWER_S = 5


class NoAnswer(Exception):
    """A server cannot be used; the text says which, why, and what to do."""


def ask(environment: Mapping[str, str]) -> None:
    """Raises NoAnswer unless those of DATABASE_URL and REDIS_URL answer that are set."""
    try:
        if "DATABASE_URL" in environment:
            psycopg2.connect(environment["DATABASE_URL"], connect_timeout=ANSWER_S).close()
    except psycopg2.ProgrammingError as error:  # its text repeats the address, password and all
        raise _no_answer(
            "DATABASE_URL", "PostgreSQL", "It is not written as postgresql://user:password@host/name."
        ) from error
    except psycopg2.Error as error:
        raise _no_answer("DATABASE_URL", "PostgreSQL", str(error)) from error
    try:
        if "REDIS_URL" in environment:
            with Redis.from_url(environment["REDIS_URL"], socket_connect_timeout=ANSWER_S, socket_timeout=ANSWER_S) as redis:
                redis.ping()
    except (RedisError, ValueError) as error:
        raise _no_answer("REDIS_URL", "Redis", str(error)) from error


def _no_answer(name: str, server: str, why: str) -> NoAnswer:
    return NoAnswer(
        f"{name} is set, and the {server} that it names cannot be used: {' '.join(why.split())} "
        f"Start that server or correct the address; with `unset {name}`, Berth brings a {server} of its own."
    )
