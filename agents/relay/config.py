"""Configuration of the relay from the environment, checked before it listens."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class MissingSetting(Exception):
    """The environment lacks a setting without which the relay must not start."""


@dataclass(frozen=True)
class RelayConfig:
    """Settings of the relay; durations in seconds.

    An agent waits for a random time within `hold_s`, so that agents do not return all at once.
    """

    redis_url: str
    secret: str
    origins: tuple[str, ...] = ()
    hold_s: tuple[float, float] = (20.0, 30.0)
    keep_alive_s: float = 15.0
    coalesce_s: float = 0.2  # limits bursts of changes to five page events a second
    retry_ms: int = 3_000
    waiters_per_topic: int = 64
    tcp_listen: str = "127.0.0.1"
    tcp_ports: range = range(0)  # ports that lead to hosts behind NAT; none by default
    reach_private: bool = False  # whether hosts at private addresses may be dialled when they test their ports
    web_host: str = ""  # domain below which instances' web programs have their own host names; "" for none


def read_config(environment: Mapping[str, str]) -> RelayConfig:
    """Read the configuration from environment variables.

    REDIS_URL and RELAY_SECRET (or NAME_FILE): required.
    RELAY_ORIGIN: comma-separated origins whose pages may read events.
    RELAY_TCP_PORTS (FIRST-LAST): ports that lead to hosts behind NAT, on the address RELAY_TCP_LISTEN.
    RELAY_REACH_PRIVATE: whether private addresses of hosts may be dialled.
    RELAY_WEB_HOST: domain below which instances' web programs have their own host names.

    Raises:
        MissingSetting: A required variable is missing, or RELAY_TCP_PORTS is malformed.
    """
    return RelayConfig(
        redis_url=_secret(environment, "REDIS_URL"),
        secret=_secret(environment, "RELAY_SECRET"),
        origins=tuple(item.strip().rstrip("/") for item in environment.get("RELAY_ORIGIN", "").split(",") if item.strip()),
        tcp_listen=environment.get("RELAY_TCP_LISTEN", "127.0.0.1"),
        tcp_ports=_ports(environment.get("RELAY_TCP_PORTS", "")),
        reach_private=environment.get("RELAY_REACH_PRIVATE", "").lower() in ("1", "true", "yes"),
        web_host=environment.get("RELAY_WEB_HOST", "").partition(":")[0],
    )


def _ports(text: str) -> range:
    if not text:
        return range(0)
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) < 2**16):
        raise MissingSetting(f"RELAY_TCP_PORTS is FIRST-LAST, such as 20000-29999, not {text!r}.")
    return range(int(first), int(last) + 1)


def _secret(environment: Mapping[str, str], name: str) -> str:
    file = environment.get(f"{name}_FILE")
    value = Path(file).read_text(encoding="utf-8").strip() if file else environment.get(name, "")
    if not value:
        raise MissingSetting(f"Set the environment variable {name}.")
    return value
