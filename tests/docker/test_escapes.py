"""A hostile tenant on the real engine: every attempt to get out is denied, every attempt to exhaust is contained."""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh

pytestmark = pytest.mark.docker  # one engine, one firewall

ATTEMPTS = Path(__file__).with_name("escapes.py")
AT_LEAST = 40
PIDS = 256
LOG_LIMIT = 25 * 1024 * 1024  # two files of 10 MB, and what is being turned over
PATIENCE = 10.0
FORKS = """
import os, signal, time
born = []
try:
    while True:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        born.append(child)
except OSError as error:
    print(len(born), error)
for child in born:
    os.kill(child, signal.SIGKILL)
"""


@pytest.fixture
def tenants(
    host: Host, order: DesiredInstance, new_order: Callable[..., DesiredInstance]
) -> tuple[DesiredInstance, DesiredInstance]:
    """Mallory's instance and a neighbour's."""
    assert host.market.facts is not None
    other = new_order(host, gpu_uuids=[host.market.facts.gpus[1].uuid])
    mallory = replace(order, pids_limit=PIDS, ram_mb=512, data_disk_gb=1)
    host.start()
    host.market.want(mallory, other)
    for tenant in (mallory, other):
        host.market.until_phase(tenant.id, "running", 1)
    return mallory, other


def network_of(host: Host, order: DesiredInstance) -> dict[str, str]:
    found: dict[str, str] = host.inspect(order)["NetworkSettings"]["Networks"][f"berth-{order.id}"]
    return found


def own_address() -> str:
    """The machine's own address on its way out; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def test_fault_093_no_way_out_of_the_container(
    host: Host, tenants: tuple[DesiredInstance, DesiredInstance], ssh: Ssh
) -> None:
    mallory, other = tenants
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = str(listener.getsockname()[1])
        named = {
            "OTHER": network_of(host, other)["IPAddress"],
            "GATEWAY": network_of(host, mallory)["Gateway"],
            "LAN": own_address(),
            "LISTENER": port,
        }
        threading.Thread(target=_accept_once, args=(listener,), daemon=True).start()
        words = " ".join(f"{name}={value}" for name, value in named.items())
        done = ssh.run(mallory, f"{words} python3 -", stdin=ATTEMPTS.read_text(), timeout=150)
        with socket.create_connection((named["GATEWAY"], int(port)), timeout=2):
            pass  # from the host itself it does answer
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= AT_LEAST
    assert {name: got for name, got in found.items() if got} == {}


def _accept_once(listener: socket.socket) -> None:
    listener.accept()[0].close()


def test_the_attempts_succeed_in_a_container_as_engines_make_them(image: str) -> None:
    """The paired test: without our walls several come through, so they are real attempts."""
    plain = ["docker", "run", "--rm", "-i", "--security-opt", "seccomp=unconfined", "--entrypoint", "python3"]
    named = {"OTHER": "127.0.0.1", "GATEWAY": "127.0.0.1", "LAN": "127.0.0.1", "LISTENER": "9"}
    words = [word for name, value in named.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [*plain, *words, image, "-"], input=ATTEMPTS.read_text(), capture_output=True, text=True, check=True
    )
    through = {name for name, got in json.loads(done.stdout).items() if got}
    assert {"capabilities", "new user namespace", "packet socket", "raw socket", "root by setuid", "read keys"} <= through


def test_fault_033_what_exhausts_is_contained_and_the_host_is_well(
    host: Host, tenants: tuple[DesiredInstance, DesiredInstance], ssh: Ssh
) -> None:
    """Forks without end, a full disk, a full log, all the memory; then the neighbour still answers at once."""
    mallory, other = tenants
    container = host.inspect(mallory)["Id"]
    forked = ssh.run(mallory, "python3 -", stdin=FORKS, timeout=60)
    born, _, error = forked.stdout.partition(" ")
    assert int(born) < PIDS and "Resource temporarily unavailable" in error
    filled = ssh.run(mallory, "dd if=/dev/zero of=/data/full bs=1M", timeout=90)
    assert "No space left on device" in filled.stderr
    ssh.run(mallory, "timeout 5 yes berth >/proc/1/fd/1", timeout=30)
    logs = Path(host.engine.info()["DockerRootDir"]) / "containers" / container
    assert sum(path.stat().st_size for path in logs.rglob("*") if path.is_file()) < LOG_LIMIT
    eaten = ssh.run(mallory, "python3 -c 'bytearray(4 << 30)'", timeout=60)
    assert eaten.returncode != 0
    began = time.monotonic()
    assert ssh.must(other, "echo well").strip() == "well"
    assert time.monotonic() - began < PATIENCE
    assert host.inspect(other)["State"]["Running"]
    assert not host.inspect(other)["State"]["OOMKilled"]
