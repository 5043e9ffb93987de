"""The examples in the client's README run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.terminal import SOURCE, Terminal

pytestmark = pytest.mark.stack

README = (SOURCE.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- test: (\w+) -->\n```python\n(.*?)```", README, re.DOTALL))
SAID = {"rent": r"an hour in all.*\n(SshAccess\(|None)", "async": "RTX 4090 3.60", "errors": "not_found 404"}


@pytest.mark.parametrize("name", SAID)
def test_example(alice: Terminal, tmp_path: Path, name: str) -> None:
    program = tmp_path / "example.py"
    program.write_text(EXAMPLES[name], encoding="utf-8")
    alice.program = [sys.executable, "-W", "error"]
    assert re.search(SAID[name], alice.must(str(program)))


def test_the_way_to_a_running_instance_takes_few_lines() -> None:
    lines = [line for line in EXAMPLES["rent"].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_every_example_is_run() -> None:
    assert README.count("```python") == len(EXAMPLES) == len(SAID)


@pytest.mark.parametrize("name", SAID)
def test_examples_are_typed(tmp_path: Path, name: str) -> None:
    program = tmp_path / "example.py"
    program.write_text(EXAMPLES[name], encoding="utf-8")
    own = tmp_path / "mypy.ini"
    own.write_text(f"[mypy]\nstrict = true\npython_version = 3.11\nmypy_path = {SOURCE}\ncache_dir = {tmp_path}/cache\n")
    line = [sys.executable, "-m", "mypy", "--config-file", str(own), str(program)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_command_in_the_readme_is_there(signed_out: Terminal) -> None:
    named = set(re.findall(r"\bberth ([a-z][a-z-]*)", README)) - {"as", "for", "import"}
    assert {"login", "search", "rent", "ssh", "cp", "logs", "stop", "rm"} <= named
    wrong = [name for name in sorted(named) if signed_out.run(name, "--help").returncode != 0]
    assert wrong == []


def test_the_exit_codes_are_those_of_the_help(signed_out: Terminal) -> None:
    table = set(re.findall(r"^\| (\d+) \|", README, re.MULTILINE))
    codes = set(
        re.findall(r"\b(\d+)\s+[a-z]", signed_out.must("--help").partition("Exit codes:")[2].partition("Options:")[0])
    )
    assert table == codes
