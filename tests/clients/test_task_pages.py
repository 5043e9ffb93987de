"""docs/tasks: each page's commands run from top to bottom as they stand, on a market with real containers."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.terminal import Terminal
from tests.clients.test_ssh import ada, real_market  # noqa: F401 fixtures
from tests.docker.conftest import engine, image, ssh_key  # noqa: F401 fixtures
from tests.stack.harness import Stack
from tests.waiting import wait_until

PAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "tasks"
# No image with a model can be had here: a server of files stands for the one of the page, in an image of the same name.
SERVER = "mkdir -p /tmp/v1 && cd /tmp && echo Qwen2.5 >v1/models && exec python3 -m http.server 8000 --bind 127.0.0.1"
INSTEAD = {"vllm serve Qwen/Qwen2.5-0.5B-Instruct --port 8000": f"sh -c '{SERVER}'"}
# What each page's commands print, in this order.
SAID = {
    "rent.md": ["RTX 4090", "running", "kept"],
    "notebooks.md": ["http", "<!DOCTYPE", "ssh berth-lab", "root"],
    "serve-a-model.md": ["running", "Qwen2.5", "http", "qwen-chat", "running"],
    "fine-tune.md": ["loss 0.5", "tuned"],
    "copy-data.md": ["a\nb\ndata"],
}


def commands_of(page: str) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def newcomer(real_market: Stack, ada: Terminal, engine: Any, image: str) -> Terminal:  # noqa: F811 fixtures
    """Someone who did what the first page says, on a market with the images that the pages name."""
    for slug in ("berth-base", "vllm"):
        engine.tag(image, "berth/tasks", slug)
        real_market.run_module("tests.stack.seed", "image", slug, f"berth/tasks:{slug}")
    return ada


@pytest.mark.docker
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", SAID)
def test_the_page_runs(newcomer: Terminal, tmp_path: Path, page: str) -> None:
    script = commands_of(page).replace("\\\n  ", "")
    for there, here in INSTEAD.items():
        script = script.replace(there, here)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "berth").write_text(f'#!/bin/sh\nexec {shlex.join(newcomer.program)} "$@"\n')
    (programs / "berth").chmod(0o755)
    env = {**newcomer.env, "PATH": f"{programs}:{newcomer.env['PATH']}"}
    # `ssh` reads the settings in the home of the account, whatever HOME says.
    config = newcomer.home / ".ssh" / "config"
    (programs / "ssh").write_text(f'#!/bin/sh\ntest -f {config} && set -- -F {config} "$@"\nexec /usr/bin/ssh "$@"\n')
    (programs / "ssh").chmod(0o755)
    line = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(
        line, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rest = done.stdout
    for words in SAID[page]:
        assert words in rest, (words, done.stdout, done.stderr)
        rest = rest[rest.index(words) + len(words) :]
    wait_until("everything is gone", lambda: newcomer.json("ls") == [], timeout=120, pause=1)


def test_every_page_is_listed_and_run() -> None:
    pages = {path.name for path in PAGES.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([a-z-]+\.md)\)", (PAGES / "README.md").read_text(encoding="utf-8"))) == pages
    assert pages - SAID.keys() == {"move.md"}
    assert commands_of("move.md") == ""


def test_every_verb_of_the_tables_is_there(tmp_path: Path) -> None:
    text = (PAGES / "move.md").read_text(encoding="utf-8")
    verbs = {tuple(each.split()) for each in re.findall(r"`berth ((?:template |volume |host )?[a-z-]+)", text)}
    assert len(verbs) > 20
    wrong = [verb for verb in sorted(verbs) if Terminal(tmp_path).run(*verb, "--help").returncode != 0]
    assert wrong == []
    options = {(verb, option) for verb, option in re.findall(r"`berth ([a-z-]+)[^`]*(--[a-z-]+)", text)}
    for verb, option in options:
        assert option in Terminal(tmp_path).must(verb, "--help")
