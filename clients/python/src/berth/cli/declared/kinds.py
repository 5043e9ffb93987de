"""The kinds of documents and their fields, named as in the API."""

from typing import Final

from berth.cli.declared.nodes import (
    Reader,
    amount,
    at_most,
    between,
    flag,
    literal,
    many,
    named,
    nullable,
    one_of,
    record,
    secret,
    text,
    variable,
    whole,
)
from berth.cli.declared.normal_forms import arguments, command, network, readiness, schedule, script, title, unique

# The market's bounds of what is set once an instance is rented: what breaks one is refused before.
NETWORKS_AT_MOST: Final = 32
IDLE_PCT: Final = (1, 100)
IDLE_MINUTES: Final = (10, 720)

LAUNCH_FIELDS: Final = (
    "env",
    "secrets",
    "command",
    "args",
    "entrypoint",
    "workdir",
    "user",
    "shm_mb",
    "on_start",
    "readiness",
)
_PROGRAM: Final[dict[str, Reader]] = {
    "command": command,
    "args": arguments,
    "entrypoint": arguments,
    "workdir": literal,
    "user": text,
    "shm_mb": whole,
    "on_start": script,
    "readiness": readiness,
}
INSTANCE: Final[dict[str, Reader]] = {
    # which offer
    "offer": text,
    "filter": text,
    "sort": text,
    "gpu_count": whole,
    # what is agreed
    "billing_mode": one_of("hourly", "reserved", "tiered", "spot"),
    "term": one_of("day", "week", "month", "year", "year3"),
    "payment": one_of("upfront", "none"),
    "max_price": amount,
    "max_hourly_rate": amount,
    "max_total": amount,
    "auto_renew": flag,
    # what runs
    "image": text,
    "data_disk_gb": whole,
    "launch_template": text,
    "inputs": named(variable),
    "env": named(variable),
    "secrets": named(secret),
    **_PROGRAM,
    # what it reaches, and who reaches it
    "volume_ids": many(text),
    "data_sets": unique(text),
    "ssh_key_ids": nullable(unique(text)),
    "ports": unique(whole),
    "udp_ports": unique(whole),
    "allow_from": at_most(NETWORKS_AT_MOST, unique(network)),
    # how it is kept
    "desired": one_of("running", "stopped"),
    "locked": flag,
    "idle_stop": nullable(
        record({"below_pct": between(*IDLE_PCT), "minutes": between(*IDLE_MINUTES)}, required=("below_pct", "minutes"))
    ),
    "schedule": schedule,
}
VOLUME: Final[dict[str, Reader]] = {"size_gb": whole, "host": text, "snapshot": text}
_INPUT: Final = record(
    {
        "name": text,
        "label": text,
        "kind": one_of("text", "number", "choice", "secret"),
        "default": text,
        "required": flag,
        "choices": many(text),
    },
    required=("name",),
)
_PORT: Final = record({"port": whole, "name": text, "protocol": one_of("http", "tcp", "udp")}, required=("port",))
TEMPLATE: Final[dict[str, Reader]] = {
    "title": title,
    "icon": text,
    "description": title,
    "category": text,
    "visibility": one_of("private", "team", "public"),
    "team": text,
    "image": text,
    "launch": record(
        {
            "env": named(text),
            "secrets": many(text),
            **_PROGRAM,
            "shm_mb": nullable(whole),
            "readiness": nullable(readiness),
        }
    ),
    "inputs": many(_INPUT),
    "ports": many(_PORT),
    "filter": text,
    "min_vram_gb": nullable(whole),
    "min_cuda": text,
    "min_driver": text,
    "data_disk_gb": nullable(whole),
    "readme": literal,
}
TEMPLATE_CONTENT: Final = (
    "image",
    "launch",
    "inputs",
    "ports",
    "filter",
    "min_vram_gb",
    "min_cuda",
    "min_driver",
    "data_disk_gb",
    "readme",
)
# In the order in which they are made; what is deleted goes the other way.
KINDS: Final = {
    "template": record(TEMPLATE, required=("image",)),
    "volume": record(VOLUME),
    "instance": record(INSTANCE),
}
