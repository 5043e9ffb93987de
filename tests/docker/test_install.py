"""The console's one command on a bare Debian, in a container of the real engine: from the script to the first exchange."""

import shutil
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import HOST_LABEL
from common.agent_release import enrol_command
from scripts.agent_release import make_key, make_release
from tests.agents.daemon.market import Market
from tests.docker.conftest import ROOT

pytestmark = pytest.mark.docker

# What apt would bring is brought once, so that no run waits for a mirror; the script finds that nothing is missing.
RECIPE = """FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \\
 ca-certificates curl e2fsprogs iptables mount python3 python3-venv sudo util-linux && rm -rf /var/lib/apt/lists/*
RUN echo 'Defaults env_keep += "PYTHONPATH"' >/etc/sudoers.d/packages
"""
BARE = "berth/bare:test"
AGENT = "/opt/berth-agent/current/bin/berth-agent"


class Bare:
    """A machine without an agent, whose engine is this one's."""

    def __init__(self) -> None:
        packages = sysconfig.get_path("purelib")
        mounts = ["-v", "/var/run/docker.sock:/var/run/docker.sock", "-v", f"{Path(packages).resolve()}:/packages:ro"]
        line = ["run", "-d", "--rm", "--init", "--network", "host", *mounts, "-e", "PYTHONPATH=/packages"]
        self._id = _docker(*line, BARE, "sleep", "infinity").strip()

    def type(self, command: str) -> tuple[int, str]:
        line = ["docker", "exec", "-w", "/root", self._id, "sh", "-c", command]
        done = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False)
        return done.returncode, done.stdout + done.stderr

    def end(self) -> None:
        _docker("rm", "-f", self._id)


def _docker(*words: str, text: str | None = None) -> str:
    done = subprocess.run(["docker", *words], input=text, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def bare(engine: Any) -> Iterator[Bare]:
    _docker("build", "-q", "-t", BARE, "-", text=RECIPE)
    made = Bare()
    yield made
    made.end()


@pytest.fixture
def command(market: Market, tmp_path: Path, settings: Any) -> str:
    """As the console shows it, for a release of this very agent. What it needs is at hand: no test asks an index."""
    market.host_id = uuid.uuid4().hex
    source = tmp_path / "source" / "agents"  # pip builds where the source lies
    shutil.copytree(ROOT / "agents", source, ignore=shutil.ignore_patterns("__pycache__", "build", "gateway", "relay"))
    wheels = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", *wheels, str(source)], check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    (tmp_path / "none.txt").touch()
    settings.AGENT_RELEASE_KEY = make_key(tmp_path / "key")
    settings.AGENT_RELEASE_DIR = str(tmp_path / "release")
    make_release(tmp_path / "key", wheel, tmp_path / "none.txt", tmp_path / "release")
    market.releases = tmp_path / "release"
    return enrol_command(market.url, "join")


def test_one_command_makes_a_bare_machine_a_host(bare: Bare, market: Market, command: str, engine: Any) -> None:
    options = " --simulate-gpus T4:2 --sparse-disks --local-images"
    code, output = bare.type(f"{command}{options} --ports 20000-20009")
    assert code == 0, output
    assert "enrolled as sim-1" in output and "no systemd runs here. Start the agent with:" in output
    assert market.facts is not None and len(market.facts.gpus) == 2
    assert "warning driver" in output or "problem driver" in output, "the doctor has looked first"
    code, unit = bare.type("cat /etc/systemd/system/berth-agent.service")
    assert f"ExecStart={AGENT} run --state-dir /var/lib/berth-agent" in unit
    assert bare.type(f"{AGENT} run --once")[0] == 0
    assert len(market.reports) >= 2
    code, output = bare.type(f"{command}{options}")
    assert code == 0 and "enrolled as" not in output, "typed again it changes nothing"
    code, output = bare.type("berth-agent uninstall")
    assert code == 0, output
    assert not engine.containers(all=True, filters={"label": f"{HOST_LABEL}={market.host_id}"})


@pytest.mark.parametrize("spoilt", ["install.sh", "release.json", "wheel"])
def test_what_was_changed_on_its_way_is_not_run(bare: Bare, market: Market, command: str, spoilt: str) -> None:
    if spoilt == "install.sh":
        first = command.index("echo '") + len("echo '")
        command = command[:first] + "0" * 64 + command[first + 64 :]
    else:
        [path] = market.releases.glob("*.whl" if spoilt == "wheel" else spoilt)
        path.write_bytes(path.read_bytes() + b" ")
    code, output = bare.type(command)
    assert code != 0
    assert "WARNING: 1 computed checksum did NOT match" in output or "is not what the command was made for" in output
    assert bare.type("test -e /opt/berth-agent/current")[0] == 1
    assert market.facts is None
