"""`berth-agent upgrade` with real environments and a container that runs: a version that works stays, another goes back."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import docker
import pytest

from agents.daemon.docker_engine.host_claim import claim_name
from agents.daemon.installation.upgrade import TRIAL_FILE
from agents.daemon.lib.config import load_config
from agents.daemon.lib.state_folder import holder_of
from agents.protocol.messages import DesiredInstance
from agents.protocol.release import SIGNATURE_FILE
from scripts.agent_release import make_key, make_release
from tests.agents.daemon.market import Market
from tests.docker.conftest import ROOT, Host
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

# Versions of which one crashes at its start, and one runs and is never heard.
CRASHING: Final = ("host_process.py", "    again = threading.Event()\n", '    raise SystemExit("broken")\n')
MUTE: Final = (
    "control_plane/confirming_client.py",
    "        desired = super().sync(report)\n",
    '        raise LinkError("mute")\n',
)
SHORT_S: Final = 3.0
Step = tuple[str, int]  # its name, and which passing of it
NOWHERE: Final = ("", 0)


@dataclass
class Factory:
    """Builds wheels of this very agent under other versions, and signs them."""

    folder: Path
    wheels: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = self.folder / "release.key"
        self.public = make_key(self.key)
        self.requirements = self.folder / "requirements.txt"
        self.requirements.touch()  # what the agent needs is found by PYTHONPATH: no test asks a package index

    def wheel(self, version: str, change: tuple[str, str, str] | None = None) -> Path:
        source = self.folder / version / "agents"
        shutil.copytree(ROOT / "agents", source, ignore=shutil.ignore_patterns("__pycache__", "gateway", "relay"))
        self._replace(source / "daemon" / "__init__.py", '__version__ = "0.1.0"', f'__version__ = "{version}"')
        if change is not None:
            name, old, new = change
            self._replace(source / "daemon" / name, old, new)
            if "LinkError" in new:
                self._replace(source / "daemon" / name, "import Link\n", "import Link, LinkError\n")
        line = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(source.parent), str(source)]
        subprocess.run([sys.executable, "-m", "pip", *line], check=True, capture_output=True, timeout=120)
        (self.wheels[version],) = source.parent.glob("*.whl")
        return self.wheels[version]

    def release(self, market: Market, version: str, change: tuple[str, str, str] | None = None) -> None:
        self.publish(market, version, self.wheel(version, change))

    def publish(self, market: Market, version: str, wheel: Path) -> None:
        market.releases = self.folder / version / "release"
        make_release(self.key, wheel, self.requirements, market.releases)

    @staticmethod
    def _replace(path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert text.count(old) == 1, (path, old)
        path.write_text(text.replace(old, new))


class Installed:
    """An agent as the install script leaves it: an environment for each version, and the link to the one that runs."""

    def __init__(self, folder: Path, wheel: Path, state: Path) -> None:
        self.prefix, self.state = folder, state
        first = folder / "versions" / "0.1.0-first"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", first], check=True, timeout=120)
        pip = [sys.executable, "-m", "pip", "--python", str(first / "bin" / "python"), "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=120)
        (folder / "current").symlink_to(first)
        self.env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}

    def line(self, *words: str, program: Path | None = None) -> list[str]:
        program = program or self.prefix / "current" / "bin" / "berth-agent"
        return [str(program), *words, "--state-dir", str(self.state)]

    def say(self, *words: str, program: Path | None = None) -> tuple[int, str]:
        done = subprocess.run(
            self.line(*words, program=program),
            cwd=self.prefix,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    def dies(self, fatal: Step, *words: str) -> tuple[int, list[Step]]:
        """Say it, dying at that step; the exit status, and the steps up to there, each with which passing of it."""
        python, file = self.prefix / "current" / "bin" / "python", self.prefix / "steps"
        program = ROOT / "tests" / "docker" / "doomed_command.py"
        line = [str(word) for word in (python, program, self.prefix.parent, file, *fatal, *words, "--state-dir", self.state)]
        env = {**self.env, "PYTHONDONTWRITEBYTECODE": "1"}  # what an import would write is no step
        done = subprocess.run(line, cwd=self.prefix, env=env, capture_output=True, timeout=240, check=False)
        passes, steps = Counter[str](), []
        for step in file.read_text().splitlines():
            passes[step] += 1
            steps.append((step, passes[step]))
        return done.returncode, steps

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self.line("run"), cwd=self.prefix, env=self.env, stderr=subprocess.DEVNULL)

    def version(self) -> str:
        return (self.prefix / "current").resolve().name.partition("-")[0]


@pytest.fixture
def factory(tmp_path: Path) -> Factory:
    return Factory(tmp_path)


@pytest.fixture
def installed(host: Host, factory: Factory, tmp_path: Path) -> Iterator[Installed]:
    made = Installed(tmp_path / "opt", factory.wheel("0.1.0"), host.state)
    process = made.start()
    yield made
    pid = holder_of(host.state)  # another process than the first, after one has died
    for number in {pid, process.pid} - {0}:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGTERM)
    process.wait(60)
    wait_until("the last agent ends", lambda: holder_of(host.state) == 0)
    with suppress(docker.errors.APIError):
        host.engine.remove_volume(claim_name(host.config.host_id))


def test_fault_022_an_upgrade_that_breaks_is_taken_back(
    host: Host, market: Market, installed: Installed, factory: Factory, order: DesiredInstance
) -> None:
    market.want(order)
    market.until_phase(order.id, "running", 1)
    before = host.inspect(order)
    process = holder_of(host.state)

    factory.release(market, "0.2.0")
    code, output = installed.say("upgrade", "--release-key", "ab" * 32)
    assert (code, "not signed by the release key" in output) == (1, True), output
    code, output = installed.say("upgrade")
    assert (code, "given no release key" in output) == (1, True), output
    own = ("--release-key", factory.public)
    code, output = installed.say("upgrade", *own)
    assert code == 0, output
    assert "Version 0.2.0 runs; the market has heard it." in output
    assert market.reports[-1].agent_version == "0.2.0"
    assert holder_of(host.state) == process, "the process went on as another program"
    alike(host.inspect(order), before)

    code, output = installed.say("upgrade", *own)
    assert (code, output.splitlines()[-1]) == (0, "Version 0.2.0 is the market's newest.")
    spoil(market)
    code, output = installed.say("upgrade", *own)
    assert (code, "not signed" in output) == (1, True)

    # Crashing: the old version is started in its place.
    factory.release(market, "0.3.0", CRASHING)
    code, output = installed.say("upgrade", *own, "--deadline", str(SHORT_S))
    assert (code, "did not hear the new version" in output) == (1, True), output
    assert installed.version() == "0.2.0" and holder_of(host.state) not in (0, process)
    market.until(lambda report: report.agent_version == "0.2.0")
    alike(host.inspect(order), before)

    # Mute: it runs, and nobody hears it.
    factory.release(market, "0.4.0", MUTE)
    heard = len(market.reports)
    code, output = installed.say("upgrade", *own, "--deadline", str(SHORT_S))
    assert (code, "did not hear the new version" in output) == (1, True), output
    assert installed.version() == "0.2.0" and holder_of(host.state) != 0, (host.state / "agent.log").read_text()
    market.until(lambda report: len(market.reports) > heard and report.agent_version == "0.2.0")
    market.until_phase(order.id, "running", 1)
    alike(host.inspect(order), before)
    assert not [report for report in market.reports if report.agent_version in ("0.3.0", "0.4.0")]

    # Killed after the switch, while nobody has heard the new one. Until then no other upgrade takes it for one cut off.
    good = (installed.prefix / "current").resolve()
    with subprocess.Popen(installed.line("upgrade", *own), cwd=installed.prefix, env=installed.env) as cut:
        wait_until("it has switched", lambda: installed.version() == "0.4.0")
        code, output = installed.say("upgrade", *own, program=good / "bin" / "berth-agent")
        assert (code, "Another upgrade of this host is under way" in output) == (1, True), output
        cut.kill()
    assert (installed.version(), (host.state / "upgrade.json").exists()) == ("0.4.0", True)
    factory.publish(market, "0.1.1", factory.wheels["0.2.0"].rename(factory.folder / "berth_agent-0.1.1-py3-none-any.whl"))
    code, output = installed.say("upgrade", *own, program=good / "bin" / "berth-agent")
    assert (code, "is older than 0.2.0" in output) == (1, True), output
    assert installed.version() == "0.2.0"
    alike(host.inspect(order), before)


class Upgrades:
    """One release after another, on a host on which a container runs."""

    def __init__(self, host: Host, installed: Installed, factory: Factory, order: DesiredInstance) -> None:
        self.host, self.market, self.installed, self.factory, self.order = host, host.market, installed, factory, order
        self.before, self.number = host.inspect(order), 2
        self.words = ("upgrade", "--release-key", factory.public)

    def release(self) -> str:
        self.number += 1
        version = f"0.{self.number}.0"
        self.factory.release(self.market, version)
        return version

    def is_killed(self, fatal: Step) -> bool:
        """Whether it came to that step; then one of the two versions is installed and runs, and so does the container."""
        code, _ = self.installed.dies(fatal, *self.words)
        self.goes_on()
        return code == -signal.SIGKILL

    def goes_on(self) -> None:
        assert (self.installed.prefix / "current" / "bin" / "berth-agent").exists()
        wait_until("one of the two runs", lambda: holder_of(self.host.state) != 0)
        alike(self.host.inspect(self.order), self.before)

    def end(self, version: str) -> None:
        for _ in range(3):  # what was cut after the switch may go back first
            self.installed.say(*self.words)
            if self.installed.version() == version:
                break
        self.market.until(lambda report: report.agent_version == version)
        assert self.installed.version() == version and not (self.host.state / TRIAL_FILE).exists()
        self.goes_on()


@pytest.mark.timeout(900)
def test_an_upgrade_is_killed_at_each_step(
    host: Host, market: Market, installed: Installed, factory: Factory, order: DesiredInstance
) -> None:
    """Wherever it is cut, the next one comes to its end."""
    market.want(order)
    market.until_phase(order.id, "running", 1)
    upgrades = Upgrades(host, installed, factory, order)
    upgrades.release()
    code, steps = installed.dies(NOWHERE, *upgrades.words)
    assert code == 0
    for kind in ("run -m venv", "run -m pip", "write", "symlink", "rename", "signal", "rmtree"):
        assert any(step.startswith(kind) for step, _ in steps), f"{kind} is not among {steps}"
    left = list(steps)
    while left:  # each dies at the step after that of the one before; what such a chain leaves out comes in the next one
        version, reached = upgrades.release(), len(left)
        for step in list(left):
            fatal = (step[0], step[1] if step == left[0] else 1)
            if installed.version() != version and upgrades.is_killed(fatal):
                left.remove(step)
        upgrades.end(version)
        assert len(left) < reached, f"it does not come to {left[0]} any more"


def alike(now: dict[str, Any], before: dict[str, Any]) -> None:
    """The same container, and the same run of it."""
    assert (now["Id"], now["State"]["Pid"], now["State"]["StartedAt"]) == (
        before["Id"],
        before["State"]["Pid"],
        before["State"]["StartedAt"],
    )


def spoil(market: Market) -> None:
    path = market.releases / SIGNATURE_FILE
    path.write_text(path.read_text()[:-2] + ("00" if not path.read_text().endswith("00") else "11"))


def test_the_key_that_enrolment_gave_is_kept(market: Market, tmp_path: Path) -> None:
    state = tmp_path / "agent"
    line = ["enrol", "--url", market.url, "--token", "join", "--state-dir", state, "--simulate-gpus", "T4:1"]
    done = subprocess.run(
        [sys.executable, "-m", "agents.daemon", *map(str, line), "--runtime", "simulated", "--release-key", "cd" * 32],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load_config(state).release_key == "cd" * 32
    output = subprocess.run(
        [sys.executable, "-m", "agents.daemon", "upgrade", "--state-dir", state],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (output.returncode, "not installed by the market's install script" in output.stderr) == (1, True)
