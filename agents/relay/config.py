"""What the relay reads from its environment, checked before it listens."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class MissingSetting(Exception):
    """The environment lacks something without which the relay must not start."""


@dataclass(frozen=True)
class RelayConfig:
    """Durations in seconds. An agent's wait lasts a random time within `hold_s`, so that agents do not come back in step."""

    redis_url: str
    secret: str
    origins: tuple[str, ...] = ()
    hold_s: tuple[float, float] = (20.0, 30.0)
    keep_alive_s: float = 15.0
    coalesce_s: float = 0.2  # a burst of changes becomes at most five page events a second
    retry_ms: int = 3_000
    waiters_per_topic: int = 64


def read_config(environment: Mapping[str, str]) -> RelayConfig:
    """REDIS_URL and RELAY_SECRET (or NAME_FILE); RELAY_ORIGIN lists the sites whose pages may read events, by comma."""
    return RelayConfig(
        redis_url=_secret(environment, "REDIS_URL"),
        secret=_secret(environment, "RELAY_SECRET"),
        origins=tuple(item.strip().rstrip("/") for item in environment.get("RELAY_ORIGIN", "").split(",") if item.strip()),
    )


def _secret(environment: Mapping[str, str], name: str) -> str:
    file = environment.get(f"{name}_FILE")
    value = Path(file).read_text(encoding="utf-8").strip() if file else environment.get(name, "")
    if not value:
        raise MissingSetting(f"Set the environment variable {name}.")
    return value
