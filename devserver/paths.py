"""State folder and ports of the stack."""

import os
from dataclasses import dataclass
from pathlib import Path

from config.env import read_int

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PORT = 8000
HIGHEST_PORT = 32_000  # ports for outgoing connections begin above it
_LOOPBACK = "127.0.0.1"
_INSTANCE_PORTS = 100


@dataclass(frozen=True)
class Layout:
    """One stack: a state folder and a first port; the relay and Redis use the two ports after it."""

    state: Path
    port: int

    @property
    def host(self) -> str:
        return _LOOPBACK

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}"

    @property
    def relay_port(self) -> int:
        return self.port + 1

    @property
    def relay_url(self) -> str:
        return f"http://{_LOOPBACK}:{self.relay_port}"

    @property
    def redis_port(self) -> int:
        return self.port + 2

    @property
    def instance_ports(self) -> str:
        """Return the range of containers' ports, which differs by PORT and lies below outgoing ports."""
        first = 20_000 + self.port % 100 * _INSTANCE_PORTS
        return f"{first}-{first + _INSTANCE_PORTS - 1}"

    @property
    def network_pool(self) -> str:
        """Return the address pool of instances' networks, which differs by PORT.

        Two stacks may share an engine.
        """
        return f"10.{200 + self.port % 50}.0.0/16"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def pid_file(self) -> Path:
        return self.state / "up.pid"

    @property
    def demo_file(self) -> Path:
        return self.state / "demo.json"

    @property
    def image_file(self) -> Path:
        return self.state / "image-build.json"


def layout_from_environment() -> Layout:
    """Return the layout by BERTH_STATE, the state folder (`.berth`), and PORT, the first port (8000).

    Raises:
        SystemExit: The port is out of range.
    """
    state = Path(os.environ.get("BERTH_STATE", ROOT / ".berth")).resolve()
    port = read_int("PORT", DEFAULT_PORT)
    if not 1 <= port <= HIGHEST_PORT:
        raise SystemExit(f"PORT must lie between 1 and {HIGHEST_PORT}, not {port}.")
    return Layout(state=state, port=port)
