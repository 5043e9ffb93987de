"""Where the stack keeps its state, and which ports it takes."""

import os
from dataclasses import dataclass
from pathlib import Path

from config.env import read_int

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PORT = 8000
HIGHEST_PORT = 32_000  # above begin the ports that outgoing connections take at random
_LOOPBACK = "127.0.0.1"
_INSTANCE_PORTS = 100


@dataclass(frozen=True)
class Layout:
    """One stack: a state folder and a first port. The relay and Redis take the two ports after it."""

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
        """The range for containers' ports: below those of outgoing connections, and another one for another PORT."""
        first = 20_000 + self.port % 100 * _INSTANCE_PORTS
        return f"{first}-{first + _INSTANCE_PORTS - 1}"

    @property
    def network_pool(self) -> str:
        """Where instances' networks lie: another one for another PORT, since two stacks may share an engine."""
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
    """BERTH_STATE names the state folder (`.berth`), PORT the first port (8000). Raises SystemExit for a bad port."""
    state = Path(os.environ.get("BERTH_STATE", ROOT / ".berth")).resolve()
    port = read_int("PORT", DEFAULT_PORT)
    if not 1 <= port <= HIGHEST_PORT:
        raise SystemExit(f"PORT must lie between 1 and {HIGHEST_PORT}, not {port}.")
    return Layout(state=state, port=port)
