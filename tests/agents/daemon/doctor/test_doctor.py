"""What `berth-agent doctor` finds, and engines with which the agent refuses to begin."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.__main__ import main
from agents.daemon.docker_engine.fitness import broken_promises, engine_facts
from agents.daemon.doctor.findings import Finding
from agents.daemon.doctor.gpu import loses_gpus
from agents.daemon.doctor.machine import system_of
from agents.daemon.lib.config import AgentConfig, save_config
from tests.agents.daemon.market import Market
from tests.agents.daemon.other_engines import DOCKER, INFO, PODMAN, ROOTLESS, OtherEngine

UNFIT: list[tuple[str, dict[str, Any], str, str]] = [
    ("podman", {"version": PODMAN}, "Podman: the firewall", "Install Docker Engine"),
    ("rootless", {"SecurityOptions": ROOTLESS}, "A rootless engine: it sees no disk", "sudo systemctl enable --now docker"),
    ("v1-memory", {"CgroupVersion": "1", "MemoryLimit": False}, "without its memory controller", "kernel's command line"),
    ("v1-cpu", {"CgroupVersion": "1", "CpuCfsQuota": False}, "without CPU quotas", "unified_cgroup_hierarchy=1"),
    ("v1-pids", {"CgroupVersion": "1", "PidsLimit": False}, "without its pids controller", "unified_cgroup_hierarchy=1"),
]


def findings(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Finding]]:
    code = main(["doctor", "--json", *map(str, arguments)])
    return code, {row["id"]: Finding(**row) for row in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(("name", "answers", "promise", "remedy"), UNFIT, ids=[row[0] for row in UNFIT])
def test_an_engine_that_breaks_a_promise_is_refused(
    *, name: str, answers: dict[str, Any], promise: str, remedy: str, market: Market, state: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """At enrolment, at each start, and in the doctor's words: which promise it is, and what to type."""
    with OtherEngine(tmp_path, **answers) as engine:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
        assert main(["enrol", "--url", market.url, "--token", "join", "--state-dir", str(state)]) == 1
        [line] = capsys.readouterr().err.strip().splitlines()
        assert line.startswith("berth-agent: ") and promise in line and remedy in line
        assert market.facts is None, "the market has not heard of it"
        state.mkdir(parents=True, exist_ok=True)
        save_config(state, AgentConfig(url=market.url, host_id="ab" * 16, name="h"))
        assert main(["run", "--state-dir", str(state)]) == 1
        assert promise in capsys.readouterr().err
        code, found = findings(capsys, "--state-dir", state)
        assert (code, found["promises"].verdict) == (1, "problem")
        assert promise in found["promises"].found and remedy in found["promises"].remedy
        assert not [line for line in engine.asked if line.startswith("POST")], "nothing was changed there"


def test_an_engine_that_keeps_them_is_not() -> None:
    assert broken_promises(engine_facts(INFO, DOCKER)) == []
    older = engine_facts({**INFO, "CgroupVersion": "1", "CgroupDriver": "cgroupfs", "SwapLimit": False}, DOCKER)
    assert broken_promises(older) == [], "cgroup v1 alone breaks nothing"
    assert broken_promises(engine_facts({}, {})) == [], "what is not said is not missing"


def test_no_engine_at_all(state: Path, tmp_path: Path) -> None:
    """In a process of its own: Docker's client leaves a socket open where nobody listens."""
    command = [sys.executable, "-m", "agents.daemon", "doctor", "--json", "--state-dir", str(state)]
    nobody = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/nobody"}
    done = subprocess.run(command, capture_output=True, text=True, env=nobody, timeout=60, check=False)
    [engine] = [row for row in json.loads(done.stdout) if row["id"] == "engine"]
    assert (done.returncode, engine["verdict"]) == (1, "problem")
    assert "sudo systemctl enable --now docker" in engine["remedy"]


def test_ports_that_somebody_has(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        _, found = findings(capsys, "--state-dir", state, "--ports", f"{port}-{port}")
        assert found["ports"].verdict == "warning" and f"{port} in use" in found["ports"].found
        assert f"sport >= :{port}" in found["ports"].remedy
        assert found["ports_outgoing"].verdict == "warning"
    _, found = findings(capsys, "--state-dir", state, "--ports", "1100-1101")
    assert found["ports_outgoing"].verdict == "ok"


@pytest.mark.parametrize(("ahead", "verdict"), [(0, "ok"), (10, "warning"), (-3600, "problem")])
def test_the_clock(state: Path, ahead: int, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(time.time() + ahead)

        def log_message(self, *_: Any) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        _, found = findings(capsys, "--state-dir", state, "--url", f"http://127.0.0.1:{server.server_address[1]}")
        thread.join(10)
    assert found["market"].verdict == "ok"
    assert found["clock"].verdict == verdict


def test_a_market_that_nobody_reaches_and_words_for_people(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--state-dir", str(state), "--url", "http://127.0.0.1:9"]) == 1
    output = capsys.readouterr().out.splitlines()
    [place] = [number for number, line in enumerate(output) if line.startswith("problem market: ")]
    assert output[place + 1].strip().startswith("-> curl -v http://127.0.0.1:9/healthz")


def test_file_systems() -> None:
    assert system_of(Path("/proc/self")) == "proc"
    assert system_of(Path("/dev/shm")) == "tmpfs"


def test_fault_053_a_reload_of_systemd_that_takes_gpus_is_foreseen() -> None:
    """The device rules are systemd's only with its own cgroup driver on v2."""
    facts = engine_facts(INFO, DOCKER)
    assert loses_gpus(facts)
    assert not loses_gpus(replace(facts, cgroup_driver="cgroupfs"))
    assert not loses_gpus(replace(facts, cgroup="1"))
