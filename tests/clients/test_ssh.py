"""What goes over SSH, on a real engine: shells, commands, files, ports, the block in ~/.ssh/config, the log."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.clients.real_market import engine, image, real_market, ssh_key  # noqa: F401 fixtures
from tests.clients.terminal import Terminal
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def ada(
    real_market: Stack,  # noqa: F811 fixtures
    ssh_key: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Terminal:
    """A newcomer with an SSH key in the usual place."""
    home = tmp_path_factory.mktemp("ada")
    (home / ".ssh").mkdir(mode=0o700)
    for suffix in ("", ".pub"):
        file = home / ".ssh" / f"id_ed25519{suffix}"
        file.write_bytes(ssh_key.with_suffix(suffix).read_bytes())
        file.chmod(0o600)
    terminal = Terminal(home)
    terminal.must("login", real_market.url, "--token-stdin", text=real_market.people["bob"]["token"])
    terminal.must("ssh-key", "add")
    return terminal


@pytest.fixture(scope="module")
def box(ada: Terminal) -> Iterator[str]:
    ada.must("rent", "4090", "--image", "berth-test", "--disk", "1", "--name", "my box", "--yes")
    yield "my box"
    ada.must("rm", "my box", "--yes", "--wait", "--timeout", "120")
    assert ada.json("ls") == []


def test_commands_and_their_exit_codes(ada: Terminal, box: str) -> None:
    assert ada.must("ssh", box, "--", "id", "-un") == "root\n"
    assert ada.must("exec", box, "--", "printf", "[%s]", "a b", "$HOME", "'") == "[a b][$HOME][']"
    assert ada.run("exec", box, "--", "sh", "-c", "exit 7").returncode == 7
    assert ada.must("exec", box, "--", "cat", text="through\n") == "through\n"


def test_files_go_there_and_back(ada: Terminal, box: str) -> None:
    there, back = ada.home / "out", ada.home / "back"
    there.mkdir()
    (there / "model.bin").write_bytes(bytes(range(256)) * 4096)
    (there / "with space.txt").write_text("x")
    ada.must("cp", str(there / "model.bin"), f"{box}:/data/")
    ada.must("cp", f"{box}:/data/model.bin", str(back))
    assert back.read_bytes() == (there / "model.bin").read_bytes()
    ada.must("cp", "-r", str(there), f"{box}:/data/folder")
    assert ada.must("exec", box, "--", "ls", "/data/folder") == "model.bin\nwith space.txt\n"
    assert ada.run("cp", f"{box}:/data/nothing", str(back)).returncode == 1


def test_folders_are_made_equal(ada: Terminal, box: str) -> None:
    source = ada.home / "dataset"
    source.mkdir()
    (source / "a").write_text("1")
    (source / "b").write_text("2")
    ada.must("sync", f"{source}/", f"{box}:/data/dataset/")
    (source / "b").unlink()
    ada.must("sync", f"{source}/", f"{box}:/data/dataset/", "--delete")
    assert ada.must("exec", box, "--", "ls", "/data/dataset") == "a\n"


def test_a_port_of_loopback_is_reached(ada: Terminal, box: str) -> None:
    serve = "cd /tmp && echo hello >x && nohup python3 -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 &"
    ada.must("exec", box, "--", "sh", "-c", serve)
    line = [*ada.program, "port-forward", box, "38123:8123"]
    with subprocess.Popen(line, env=ada.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tunnel:
        try:
            wait_until("the tunnel", lambda: _said("http://127.0.0.1:38123/x") == "hello\n", timeout=30)
        finally:
            tunnel.terminate()


def _said(url: str) -> str:
    try:
        return httpx.get(url, timeout=2).text
    except httpx.HTTPError:
        return ""


def test_the_block_in_the_configuration_of_ssh(ada: Terminal, box: str) -> None:
    config = ada.home / ".ssh" / "config"
    config.write_text("Host *\n    User nobody\n")
    for _ in range(2):
        assert ada.must("ssh", box, "--config") == "ssh berth-my-box\n"
    text = config.read_text()
    assert (text.count("# berth: begin"), text.endswith("Host *\n    User nobody\n")) == (1, True)
    assert config.stat().st_mode & 0o777 == 0o600
    line = ["ssh", "-F", str(config), "-o", "BatchMode=yes", "berth-my-box", "id", "-un"]
    done = subprocess.run(line, capture_output=True, text=True, env=ada.env, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "root\n"), done.stderr


def test_the_log_is_followed(ada: Terminal, box: str) -> None:
    ada.must("exec", box, "--", "sh", "-c", "echo one-line > /proc/1/fd/1")
    wait_until("the line", lambda: "one-line" in ada.must("logs", box, "--tail", "50"), timeout=60)
    with subprocess.Popen([*ada.program, "logs", box, "-f"], env=ada.env, stdout=subprocess.PIPE, text=True) as following:
        try:
            assert following.stdout is not None
            ada.must("exec", box, "--", "sh", "-c", "echo another-line > /proc/1/fd/1")
            ends = time.monotonic() + 60
            for line in following.stdout:
                if "another-line" in line:
                    break
                assert time.monotonic() < ends
        finally:
            following.terminate()


def test_a_stopped_instance_says_what_to_do(ada: Terminal, box: str) -> None:
    ada.must("stop", box, "--wait")
    done = ada.run("ssh", box)
    assert (done.returncode, "berth start 'my box'" in done.stderr) == (5, True)
    ada.must("start", box)
    wait_until("SSH", lambda: ada.run("exec", box, "--", "test", "-s", "/data/model.bin").returncode == 0, timeout=60)
