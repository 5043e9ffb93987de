"""How much a web process takes on at once, with units. The settings are in docs/operations.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from agents.gateway.constants import MAX_BODY_BYTES as AGENT_BODY_BYTES
from agents.protocol.speed_test import LARGEST_BYTES, SPEED_PATH
from config.env import read_int
from config.middleware.api_fast_path import AGENT_PREFIX, API_PREFIX
from config.middleware.api_fast_path import MAX_BODY_BYTES as API_BODY_BYTES


class Traffic(StrEnum):
    """Kinds of requests that do not wait for each other: each has threads and a queue of its own."""

    AGENTS = "agents"  # signed messages: a host that is not heard turns silent, and its time unpaid
    OPERATIONS = "operations"  # whether it is ready, and its metrics
    PUBLIC = "public"  # reading what everyone may read: searches, pages without a session, static files
    GENERAL = "general"  # the rest: whoever is signed in, every order, every form


@dataclass(frozen=True)
class Share:
    """What one kind of request gets in each web process. `patience_s` None: nobody is refused for waiting."""

    threads: int
    queue: int
    patience_s: float | None


THREADS: Final = read_int("WEB_THREADS", 4)
# A request that could not begin within this time is refused: whoever comes back later is served sooner than by a long queue.
PATIENCE_S: Final = read_int("WEB_QUEUE_MS", 250) / 1_000
QUEUE: Final = 1_000
SHARES: Final[Mapping[Traffic, Share]] = MappingProxyType(
    {
        Traffic.AGENTS: Share(read_int("WEB_AGENT_THREADS", 4), 10_000, None),
        Traffic.OPERATIONS: Share(1, 100, None),
        Traffic.PUBLIC: Share(THREADS, QUEUE, PATIENCE_S),
        Traffic.GENERAL: Share(THREADS, QUEUE, PATIENCE_S),
    }
)
RETRY_S: Final = 2

# A body must be there as a whole this long after its headers. Speed tests send 8 MiB over slow lines.
BODY_S: Final = read_int("WEB_BODY_S", 10)
SPEED_BODY_S: Final = 60
PAGE_BODY_BYTES: Final = 2_621_440  # Django's own limit for forms
# Bodies that are being read hold at most this much memory in a process, beside the first part of each, which is always let
# in: agents' reports and forms are no larger, and there are no more of them than connections. Who only announces holds none.
BODIES_BYTES: Final = 256 * 1024 * 1024
ALWAYS_BYTES: Final = 64 * 1024
# Answers of unknown length larger than this wait for their reader in a file.
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
    return BodyLimit(API_BODY_BYTES if path.startswith(API_PREFIX) else PAGE_BODY_BYTES, BODY_S)
