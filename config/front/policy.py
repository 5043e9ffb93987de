"""Limits of a web process: threads, queues, times and sizes. docs/operations.md has the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from agents.gateway.constants import MAX_BODY_BYTES as AGENT_BODY_BYTES
from agents.protocol.speed_test import LARGEST_BYTES, SPEED_PATH
from config.env import read_int
from config.middleware.api_fast_path import AGENT_PREFIX, API_PREFIXES
from config.middleware.api_fast_path import MAX_BODY_BYTES as API_BODY_BYTES


class Traffic(StrEnum):
    """Kinds of requests that do not wait for each other: each has its own threads and queue."""

    AGENTS = "agents"  # signed messages of agents: a host whose messages wait goes silent, and its time unpaid
    OPERATIONS = "operations"  # readiness and metrics
    PUBLIC = "public"  # public reads: searches, pages without a session, static files
    GENERAL = "general"  # all others: signed-in users, orders, forms


@dataclass(frozen=True)
class PoolLimits:
    """Share of one kind of request in each web process; with `patience_s` None it may wait for ever."""

    threads: int
    queue: int
    patience_s: float | None


THREADS: Final = read_int("WEB_THREADS", 4)
# A request that could not start within this time is refused: a client that retries is served sooner than by a long
# queue.
PATIENCE_S: Final = read_int("WEB_QUEUE_MS", 250) / 1_000
QUEUE: Final = 1_000
POOL_LIMITS: Final[Mapping[Traffic, PoolLimits]] = MappingProxyType(
    {
        Traffic.AGENTS: PoolLimits(read_int("WEB_AGENT_THREADS", 4), 10_000, None),
        Traffic.OPERATIONS: PoolLimits(1, 100, None),
        Traffic.PUBLIC: PoolLimits(THREADS, QUEUE, PATIENCE_S),
        Traffic.GENERAL: PoolLimits(THREADS, QUEUE, PATIENCE_S),
    }
)
RETRY_S: Final = 2

# Seconds after its headers by which a body must be complete. Speed tests send 8 MiB over slow connections.
BODY_S: Final = read_int("WEB_BODY_S", 10)
SPEED_BODY_S: Final = 60
PAGE_BODY_BYTES: Final = 2_621_440  # Django's own limit for forms
# Limit for the memory of all bodies that a process is reading. The first part of each body does not count and is always
# accepted: agents' reports and forms are no larger, and there are no more of them than connections. A body that is only
# announced takes no memory.
BODIES_BYTES: Final = 256 * 1024 * 1024
ALWAYS_BYTES: Final = 64 * 1024
# Answers of unknown length that are larger than this wait for the client in a file.
SPOOL_BYTES: Final = 1024 * 1024
CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True)
class BodyLimit:
    size: int
    seconds: float


def body_limit(path: str) -> BodyLimit:
    if path == SPEED_PATH:
        return BodyLimit(LARGEST_BYTES, SPEED_BODY_S)
    if path.startswith(AGENT_PREFIX):
        return BodyLimit(AGENT_BODY_BYTES, BODY_S)
    return BodyLimit(API_BODY_BYTES if path.startswith(API_PREFIXES) else PAGE_BODY_BYTES, BODY_S)
