"""Commands and copies without SSH, on a market with a real container: the examples of docs/exec-and-copy.md, and edges."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.real_market import engine, image, real_market  # noqa: F401 fixtures
from tests.clients.terminal import SOURCE, WITH_CTRL_C, Terminal
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "exec-and-copy.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- test: (\w+) -->\n```(?:sh|python)\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(scope="module")
def ci(real_market: Stack, tmp_path_factory: pytest.TempPathFactory) -> Terminal:  # noqa: F811 fixtures
    """A job that has a token and no SSH key; `berth` is on its path."""
    home = tmp_path_factory.mktemp("ci")
    own = home / "bin"
    own.mkdir()
    (own / "berth").write_text(f'#!/bin/sh\nexec {sys.executable} -m berth "$@"\n')
    (own / "berth").chmod(0o755)
    path = f"{own}:{os.environ['PATH']}"
    person = real_market.people["alice"]["token"]
    return Terminal(home, real_market.url, person, settings={"PATH": path, "SSH_AUTH_SOCK": ""})


@pytest.fixture(scope="module")
def box(ci: Terminal) -> Iterator[str]:
    ci.must("rent", "4090", "--image", "berth-test", "--disk", "1", "--name", "train", "--yes")
    yield str(ci.json("show", "train")["id"])
    ci.must("rm", "train", "--yes", "--wait")


def shell(ci: Terminal, box: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**ci.env, "ID": box, "PYTHONPATH": str(SOURCE)}
    line = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(line, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def example(ci: Terminal, box: str, name: str, folder: Path) -> str:
    done = shell(ci, box, EXAMPLES[name], folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_every_example_is_run() -> None:
    assert PAGE.count("```sh") + PAGE.count("```python") == len(EXAMPLES) == 5


def test_the_command_line(ci: Terminal, box: str, tmp_path: Path) -> None:
    output = example(ci, box, "cli", tmp_path)
    assert "3 epochs in /data\n42\n" in output
    result = json.loads(output[output.index("{") :])
    assert (result["state"], result["exit_code"], result["stdout"]) == ("exited", 0, "root\n")


def test_the_api(ci: Terminal, box: str, tmp_path: Path) -> None:
    assert example(ci, box, "api", tmp_path) == "0\n42\n\n"


def test_the_python_client(ci: Terminal, box: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(EXAMPLES["python"])
    done = shell(ci, box, f"{sys.executable} -W error example.py", tmp_path)
    assert (done.returncode, done.stdout) == (0, "exited 0 42\n\n"), done.stderr


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "model.bin").write_bytes(os.urandom(3_000_000))
    (tmp_path / "dataset" / "deep").mkdir(parents=True)
    (tmp_path / "dataset" / "one.txt").write_text("1")
    (tmp_path / "dataset" / "deep" / "two words").write_text("2")
    return tmp_path


def test_copies_by_the_command_line(ci: Terminal, box: str, work: Path) -> None:
    for _ in range(2):  # the second time over what is there
        example(ci, box, "cp", work)
    assert (work / "back.bin").read_bytes() == (work / "model.bin").read_bytes()
    assert (work / "again" / "deep" / "two words").read_text() == "2"
    assert ci.must("exec", "--api", "train", "--", "find", "/data/dataset", "-type", "f").count("\n") == 2
    inside = ci.must(
        "exec", "--api", "train", "--", "sh", "-c", "stat -c %u:%g /data/dataset/one.txt; ls -A /data | grep part || true"
    )
    assert inside == "0:0\n"


def test_copies_by_the_api(ci: Terminal, box: str, work: Path) -> None:
    output = example(ci, box, "files", work)
    assert (work / "copy.bin").read_bytes() == (work / "model.bin").read_bytes()
    assert "dataset/deep/two words" in output


def test_what_cannot_be_copied(ci: Terminal, box: str, work: Path) -> None:
    for words, output in (
        ((f"{work}/none", "train:/data/"), "o file or folder has this name"),
        ((f"{work}/dataset", "train:/data/"), "-r"),
        ((f"{work}/model.bin", "train:/none/there"), "o file or folder has this name"),
        ((f"{work}/model.bin", "train:/data/none/"), "no folder"),
        (("train:/data/none", f"{work}/"), "o file or folder has this name"),
        ((f"{work}/model.bin", "train:/proc/x"), ""),
    ):
        done = ci.run("cp", "--api", *words)
        assert (done.returncode, output in done.stderr, "Traceback" in done.stderr) == (1, True, False), (words, done.stderr)


def test_exit_codes_and_streams_without_a_key(ci: Terminal, box: str) -> None:
    done = ci.run("exec", "train", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, "err\n" in done.stderr) == (7, "out\n", True)
    late = ci.run("exec", "--api", "--timeout", "1", "train", "--", "sh", "-c", "echo begun; exec sleep 600")
    assert (late.returncode, late.stdout) == (124, "begun\n")
    refused = ci.run("exec", "--api", "--user", "nobody-at-all", "train", "--", "true")
    assert (refused.returncode in (126, 127), "nobody-at-all" in refused.stdout) == (True, True)
    assert ci.run("exec", "--api", "--tty", "train", "--", "true").returncode == 2
    assert ci.run("exec", "--api", "--env", "NAME", "train", "--", "true").returncode == 2
    long = ci.run("exec", "--api", "train", "--", "head", "-c", "400000", "/dev/zero")
    assert (len(long.stdout), "256 KiB" in long.stderr) == (262_144, True)


def test_who_interrupts_ends_it_in_the_instance_too(ci: Terminal, box: str) -> None:
    count = ("exec", "--api", "train", "--", "sh", "-c", "pgrep -fc 'sleep 888[8]' || true")
    line = [ci.program[0], "-c", WITH_CTRL_C, "exec", "--api", "--timeout", "600", "train", "--", "sleep", "8888"]
    with subprocess.Popen(line, env=ci.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        wait_until("it runs", lambda: ci.must(*count) == "1\n", timeout=60)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
    wait_until("it is ended", lambda: ci.must(*count) == "0\n", timeout=60)


def test_it_takes_about_as_long_as_the_command(ci: Terminal, box: str) -> None:
    """A bound for a busy machine; the figure itself is told with the results."""
    ci.must("exec", "--api", "train", "--", "true")
    began = time.monotonic()
    ci.must("exec", "--api", "train", "--", "true")
    took = time.monotonic() - began
    print(f"exec through the API: {took:.2f} s")
    assert took < 20


def test_the_agent_dies_and_the_end_is_unknown(ci: Terminal, box: str, real_market: Stack) -> None:  # noqa: F811 a fixture
    line = [*ci.program, "exec", "--api", "--json", "--timeout", "600", "train", "--", "sleep", "8888"]
    with subprocess.Popen(line, env=ci.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(3)
        real_market.kill("agent-real")
        real_market.restart("agent-real")
        output, errors = running.communicate(timeout=120)
    result = json.loads(output)
    assert (running.returncode, result["state"], result["failure"]["code"]) == (125, "unknown", "agent_restarted"), errors
    assert ci.must("exec", "--api", "train", "--", "sh", "-c", "pgrep -fc 'sleep 888[8]' || true") == "0\n"
