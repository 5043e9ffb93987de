"""The command line, from the token to the fleet."""

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agents.daemon import __version__
from agents.daemon.__main__ import main
from agents.daemon.lib.config import NotEnrolled, load_config, load_or_make_key, public_hex
from agents.daemon.lib.state_folder import folder_lock
from agents.daemon.simulated_fleet import Fleet, NotSimulated
from agents.daemon.streams.stream_limits import AT_ONCE
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import HOST_ID, Market
from tests.waiting import wait_until

SIMULATED = ["--runtime", "simulated", "--simulate-gpus", "RTX 4090:2"]


def enrol(market: Market, state: Path, *more: str) -> int:
    return main(["enrol", "--url", market.url, "--token", "join", "--state-dir", str(state), *SIMULATED, *more])


def test_enrolment(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert enrol(market, state, "--ports", "41000-41009", "--address", "gpu.example.org") == 0
    config = load_config(state)
    assert (config.host_id, config.name, config.port_first, config.port_last) == (HOST_ID, "sim-1", 41000, 41009)
    assert market.facts is not None
    assert (market.facts.address, len(market.facts.gpus)) == ("gpu.example.org", 2)
    assert market.public_key == public_hex(load_or_make_key(state))
    assert (state / "key").stat().st_mode & 0o777 == 0o600
    assert (state / "agent.json").stat().st_mode & 0o777 == 0o600
    assert "enrolled as sim-1" in capsys.readouterr().out
    key = (state / "key").read_text()
    assert re.fullmatch("[0-9a-f]{64}", key) and key not in (state / "agent.json").read_text()


def test_an_identity_is_never_overwritten(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enrol(market, state)
    assert enrol(market, state) == 1
    assert "enrolled already" in capsys.readouterr().err


def test_a_used_token_is_told_and_the_key_kept(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = ["enrol", "--url", market.url, "--token", "used", "--state-dir", str(state), *SIMULATED]
    assert main(refused) == 1
    assert "403 The join token is used or too old." in capsys.readouterr().err
    key = (state / "key").read_text()
    assert enrol(market, state) == 0
    assert (state / "key").read_text() == key


def test_a_folder_that_cannot_be_written_is_one_line(
    market: Market, state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    enrol(market, state)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert main(["run", "--state-dir", str(state)]) == 1
    [line] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("berth-agent:")]
    assert line == f"berth-agent: The agent's folder {state} cannot be written: No space left on device."


def test_running_before_enrolling(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--state-dir", str(state)]) == 1
    assert "enrol this host first" in capsys.readouterr().err
    with pytest.raises(NotEnrolled):
        load_config(state)


@pytest.mark.parametrize("ports", ["22-40", "41000", "5-4", "40000-70000", "a-b"])
def test_bad_port_ranges(market: Market, state: Path, ports: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        enrol(market, state, "--ports", ports)
    assert "FIRST-LAST" in capsys.readouterr().err


def test_bad_gpu_lists(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["enrol", "--url", market.url, "--token", "join", "--state-dir", str(state), "--simulate-gpus", ":3"]
    assert main(wanted) == 1
    assert "MODEL:COUNT" in capsys.readouterr().err


def test_install_prints_a_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == 0
    assert "ExecStart=" in capsys.readouterr().out


def test_run_once_says_that_it_is_simulated(market: Market, state: Path, wanted_by: DesiredInstance) -> None:
    enrol(market, state)
    market.want(wanted_by)
    done = _agent("run", "--once", "--state-dir", str(state))
    assert done.returncode == 0, done.stderr
    assert "SIMULATED: the containers and GPUs of this host are not real" in done.stderr
    assert f"create {wanted_by.id} generation=1" in done.stderr, "one line an action"
    assert market.reports[-1].instances[0].phase == "running"


def test_run_once_tells_what_is_wrong(market: Market, state: Path) -> None:
    enrol(market, state)
    market.trouble = ["403"]
    done = _agent("run", "--once", "--state-dir", str(state))
    assert done.returncode == 1
    assert "403 in trouble" in done.stderr.splitlines()[-1]


def test_a_signal_ends_it_at_once(market: Market, state: Path) -> None:
    enrol(market, state)
    command = [sys.executable, "-m", "agents.daemon", "run", "--state-dir", str(state)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        market.until(lambda _: bool(market.waits))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def test_it_may_open_a_connection_on_both_sides_of_every_stream(market: Market, state: Path) -> None:
    enrol(market, state)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    command = [sys.executable, "-m", "agents.daemon", "run", "--state-dir", str(state)]
    with subprocess.Popen(["sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh", *command], stderr=subprocess.PIPE) as process:
        market.until(lambda _: bool(market.waits))
        soft, kept = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    assert (soft >= min(hard, 4 * AT_ONCE), kept) == (True, hard)


def test_a_fleet_serves_many_hosts(market: Market, state: Path, tmp_path: Path) -> None:
    for number in range(3):
        market.host_id = f"{number:032x}"
        enrol(market, tmp_path / "fleet" / f"h{number}")
    (tmp_path / "fleet" / "not-a-host").mkdir()
    market.check_signatures = False  # each host has a key of its own; this market knows one
    command = [sys.executable, "-m", "agents.daemon", "fleet", "--state-dir", str(tmp_path / "fleet")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        market.until(lambda _: {item.host_id for item in market.envelopes} == {f"{number:032x}" for number in range(3)})
        # Each host has threads that last, and some that soon end.
        tasks = Path(f"/proc/{process.pid}/task")
        wait_until("each host has its three threads", lambda: len(list(tasks.iterdir())) <= 1 + 3 * 3)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert "SIMULATED: 3 hosts" in errors


def test_a_real_host_does_not_join_a_fleet(market: Market, state: Path) -> None:
    enrol(market, state / "h1")
    config = state / "h1" / "agent.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "runtime": "docker"}))
    with pytest.raises(NotSimulated, match="berth-agent run"):
        Fleet(state)


def test_self_test_of_a_simulated_host(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enrol(market, state)
    assert main(["self-test", "--state-dir", str(state)]) == 0
    output = capsys.readouterr().out
    assert "measured gpu_present: Simulated: 2 found" in output


def test_uninstall_of_a_simulated_host(
    market: Market, state: Path, wanted_by: DesiredInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    enrol(market, state)
    market.want(wanted_by)
    assert main(["uninstall", "--state-dir", str(state)]) == 1
    assert f"the market has 1 instances here ({wanted_by.id})" in capsys.readouterr().err
    with folder_lock(state):
        assert main(["uninstall", "--force", "--state-dir", str(state)]) == 1
    assert "stop it first" in capsys.readouterr().err
    market.revoked = True  # or retired: nothing is here, so nothing is lost
    assert main(["uninstall", "--state-dir", str(state)]) == 0
    assert not state.exists()


KILLED_UNINSTALL = """
import os, signal, sys
from agents.daemon.__main__ import main
def hear(event, args):
    if event == "os.remove" and os.fspath(args[0]).endswith("agent.json"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hear)
main(["uninstall", "--force", "--state-dir", sys.argv[1]])
"""


def test_an_uninstall_that_was_killed_can_be_typed_again(market: Market, state: Path) -> None:
    """What says which host this is goes last of all."""
    enrol(market, state)
    words = [sys.executable, "-c", KILLED_UNINSTALL, str(state)]
    assert subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == -signal.SIGKILL
    assert [path.name for path in state.iterdir()] == ["agent.json"]
    assert main(["uninstall", "--force", "--state-dir", str(state)]) == 0
    assert not state.exists()


def test_fault_020_a_copied_folder_is_told_from_its_original(
    market: Market, state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enrol(market, state)
    assert main(["run", "--once", "--state-dir", str(state)]) == 0
    copy = tmp_path / "copy"
    shutil.copytree(state, copy)
    for command in ("run", "uninstall"):
        assert main([command, "--state-dir", str(copy)]) == 1
        assert f"{copy} is a copy of {state}" in capsys.readouterr().err
    moved = state.rename(tmp_path / "moved")
    assert main(["run", "--once", "--state-dir", str(moved)]) == 0, "the folder itself may have another name"
    assert main(["adopt", "--state-dir", str(copy)]) == 0
    assert main(["run", "--once", "--state-dir", str(copy)]) == 0


def test_a_damaged_place_is_named(market: Market, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enrol(market, state)
    (state / "place.json").write_text("{")
    assert main(["run", "--once", "--state-dir", str(state)]) == 1
    assert "place.json is damaged" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, text in (("--help", "enrol"), ("--version", __version__)):
        with pytest.raises(SystemExit) as ended:
            main([flag])
        assert ended.value.code == 0
        assert text in capsys.readouterr().out


@pytest.fixture
def wanted_by() -> DesiredInstance:
    return DesiredInstance("a" * 32, 1, 1, "running", "berth/base:1", ports=[(22, 20000)])


def _agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agents.daemon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))
