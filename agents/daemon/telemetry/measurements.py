"""Results of the last self-tests for disk and network, stored for the host's facts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "measured.json"


@dataclass(frozen=True)
class Measured:
    """In whole MB/s and Mbit/s; times in Unix seconds by this machine's clock."""

    disk_read_mbps: int | None = None
    disk_write_mbps: int | None = None
    disk_measured_at: int | None = None
    net_up_mbps: int | None = None
    net_down_mbps: int | None = None
    net_measured_at: int | None = None


def load(state: Path) -> Measured:
    """Return the stored results; empty if the file is missing or torn, since a self-test repeats them."""
    try:
        return Measured(**json.loads((state / FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Measured()


def save(state: Path, measured: Measured) -> None:
    state.mkdir(parents=True, exist_ok=True)
    spare = state / f"{FILE}.new"
    spare.write_text(json.dumps(asdict(measured)))
    spare.replace(state / FILE)


def as_facts(measured: Measured) -> dict[str, Any]:
    return asdict(measured)
