"""State folder of the agent: the host's identity, its key, and the owner's settings."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from agents.daemon.lib.atomic_files import write_atomically

DEFAULT_STATE = Path("/var/lib/berth-agent")
FULL_PERCENT: Final = 85  # of the disk where the engine keeps images; above it, unused images are removed
CONFIG_FILE = "agent.json"
KEY_FILE = "key"
NEXT_KEY_FILE = "key.next"


class NotEnrolled(Exception):
    """The state folder holds no identity."""


class FolderUnusable(Exception):
    """The state folder cannot be written: it is read-only, another user's, or on a full disk."""


@dataclass(frozen=True)
class AgentConfig:
    """Configuration that is written at enrolment and read at each start."""

    url: str
    host_id: str = ""
    name: str = ""
    runtime: Literal["docker", "simulated"] = "docker"
    behind_nat: bool = False
    simulate_gpus: str = ""
    gpu_seed: str = ""
    address: str = ""
    listen: str = "0.0.0.0"  # noqa: S104 (renters connect from anywhere)
    port_first: int = 20000  # below Linux's range for outgoing connections: 32768-60999
    port_last: int = 20999
    network_pool: str = "10.209.0.0/16"
    local_images: bool = False
    sparse_disks: bool = False
    ssh_deadline_s: float = 60.0
    parallel_pulls: int = 2
    prefetch_images: bool = True
    image_gc_percent: int = FULL_PERCENT
    release_key: str = ""  # public key for upgrades, in hex; "": none was given

    @property
    def simulated(self) -> bool:
        return self.runtime == "simulated" or bool(self.simulate_gpus)

    def listen_at(self, port: int) -> str:
        """Return the address on which another host may connect to this port.

        It is "" behind NAT, and for a port that no instance here can have.
        """
        return self.listen if self.port_first <= port <= self.port_last and not self.behind_nat else ""


def save_config(state: Path, config: AgentConfig) -> None:
    _write_private(state / CONFIG_FILE, json.dumps(asdict(config), indent=2).encode())


def load_config(state: Path) -> AgentConfig:
    try:
        found = json.loads((state / CONFIG_FILE).read_bytes())
    except FileNotFoundError as error:
        raise NotEnrolled(f"{state} holds no identity: enrol this host first.") from error
    known = {item.name for item in fields(AgentConfig)}
    return AgentConfig(**{key: value for key, value in found.items() if key in known})


def is_enrolled(state: Path) -> bool:
    return (state / CONFIG_FILE).exists()


def load_or_make_key(state: Path, name: str = KEY_FILE) -> Ed25519PrivateKey:
    """Return the host's key; it is kept after a failed enrolment, so that a retry is the same host."""
    path = state / name
    if not path.exists():
        fresh = Ed25519PrivateKey.generate()
        _write_private(path, fresh.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()).hex().encode())
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text()))


def activate_next_key(state: Path) -> None:
    """Replace the host's key by its next one."""
    (state / NEXT_KEY_FILE).replace(state / KEY_FILE)


def public_hex(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def _write_private(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    write_atomically(path, content)
