"""The agent's own wheel: it installs and starts where there is no Django, and asks for what the lock file has."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.agents.daemon.market import Market

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# Stands in for a machine without Django and without this repository.
GUARD = """
import sys
class NoDjango:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("django", "rest_framework", "celery", "redis", "psycopg2", "config", "common"):
            raise ModuleNotFoundError(f"No module named {name!r} here")
sys.meta_path.insert(0, NoDjango())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the wheel's packages lie."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "agents"
    shutil.copytree(ROOT / "agents", source, ignore=shutil.ignore_patterns("__pycache__", "gateway", "relay"))
    _pip("wheel", "--no-build-isolation", "-w", folder, source)
    (wheel,) = folder.glob("berth_agent-*.whl")
    target = folder / "site"
    _pip("install", "--target", target, wheel)
    (target / "sitecustomize.py").write_text(GUARD)
    return target


def _pip(command: str, *options: str | Path) -> None:
    line = [sys.executable, "-m", "pip", "--disable-pip-version-check", command, "--no-deps", "--no-index", *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def agent(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(installed / "bin" / "berth-agent"), *arguments]
    env = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{sysconfig.get_path('purelib')}"}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env, cwd=installed)


def test_it_starts_without_django(installed: Path, market: Market, tmp_path: Path) -> None:
    shown = agent(installed, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "fleet" in shown.stdout
    where = ["--state-dir", str(tmp_path / "state")]
    options = ["--url", market.url, "--token", "join", "--runtime", "simulated", "--simulate-gpus", "T4:1"]
    enrolled = agent(installed, "enrol", *options, *where)
    assert enrolled.returncode == 0, enrolled.stderr
    ran = agent(installed, "run", "--once", *where)
    assert ran.returncode == 0, ran.stderr
    assert len(market.reports) == 2


def test_only_what_belongs_to_the_agent_is_in_it(installed: Path) -> None:
    assert {path.name for path in (installed / "agents").iterdir()} - {"__pycache__"} == {
        "__init__.py",
        "daemon",
        "protocol",
    }
    assert (installed / "agents" / "daemon" / "docker_engine" / "seccomp.json").exists()


def test_the_lock_file_is_for_the_same_packages() -> None:
    wanted = tomllib.loads((ROOT / "agents" / "pyproject.toml").read_text())["project"]["dependencies"]
    lines = (ROOT / "requirements" / "agent.in").read_text().splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    assert sorted(wanted) == sorted(listed)
    locked = re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements" / "agent.txt").read_text(), re.MULTILINE)
    assert set(wanted) <= set(locked)
