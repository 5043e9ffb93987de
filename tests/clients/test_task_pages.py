"""docs/tasks: each page's commands run from top to bottom as they stand, on a market with real containers.

What isn't run, because it says what could be written, is read by the command line itself; nothing is left out.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.clients.command_lines import all_options, check_operation, parse
from tests.clients.real_market import engine, image, real_market, ssh_key  # noqa: F401 fixtures
from tests.clients.task_images import add_vllm, build_official, remove_pulled
from tests.clients.terminal import Terminal
from tests.clients.test_ssh import ada  # noqa: F401 a fixture
from tests.stack import renting
from tests.stack.harness import Stack
from tests.storage.stub_registry import StubRegistry
from tests.waiting import wait_until

PAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "tasks"
HUB = "docker.io/"  # for which a registry on this machine stands
INSTEAD = {"--disk 20": "--disk 1"}
# What each page's commands print, in this order.
SAID = {
    "rent.md": ["RTX 4090", "running", "kept"],
    "notebooks.md": ["http", "<!DOCTYPE", "ssh berth-lab", "root"],
    "serve-a-model.md": ["running", "Qwen/Qwen2.5-0.5B-Instruct", "http", "vllm-chat", "running", "serving Qwen/Qwen2.5"],
    "fine-tune.md": ["Qwen/Qwen2.5-0.5B {'loss': 0.5}", "tuned"],
    "copy-data.md": ["a\nb\ndata"],
}


def commands_of(page: str) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


def lines_of(page: Path) -> list[tuple[str, list[str]]]:
    """Each line with its code that begins with `berth` or is an option; of the blocks each command."""
    text, found = page.read_text(encoding="utf-8"), []
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert {kind for kind, _ in blocks} <= {"sh"}, "a block that is no shell would be run by nobody"
    for _, block in blocks if page.name not in SAID else []:
        found += [(line, [line]) for line in block.splitlines()]
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        found.append((line, re.findall(r"`((?:berth |--)[^`]+)`", line)))
    return found


@pytest.fixture(scope="module")
def registry(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StubRegistry]:  # noqa: F811 fixtures
    with StubRegistry() as running:
        add_vllm(running, tmp_path_factory.mktemp("vllm"))
        yield running
        remove_pulled(engine, running)


@pytest.fixture(scope="module")
def newcomer(
    real_market: Stack,  # noqa: F811 fixtures
    ada: Terminal,  # noqa: F811 fixtures
    image: str,  # noqa: F811 fixtures
    tmp_path_factory: pytest.TempPathFactory,
) -> Terminal:
    """Someone who did what the first page says, on a market with the images that the pages name."""
    for slug, reference in build_official(image, tmp_path_factory.mktemp("images")).items():
        real_market.run_module("tests.stack.seed", "image", slug, reference)
    renting.wait_for_templates(real_market.client("alice"), {"ssh-jupyter", "llm-server", "fine-tuning"})
    return ada


@pytest.mark.docker
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", SAID)
def test_the_page_runs(newcomer: Terminal, registry: StubRegistry, tmp_path: Path, page: str) -> None:
    script = commands_of(page).replace("\\\n  ", "")
    for there, here in {**INSTEAD, HUB: f"{registry.host}/"}.items():
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


def test_every_other_line_is_one_that_the_command_line_takes(subtests: pytest.Subtests) -> None:
    known, read, asked = all_options(), 0, 0
    for page in PAGES.glob("*.md"):
        for line, codes in lines_of(page):
            for code in codes:
                read += 1
                with subtests.test(f"{page.name}: {code}"):
                    words = shlex.split(code)
                    if words[0] != "berth":
                        assert words[0] in known, line
                    elif words[1] != "VERB":
                        context = parse(words[1:])
                        if words[1] == "api":
                            asked += 1
                            check_operation(context)
    assert read > 60
    assert asked


@pytest.mark.parametrize(
    "line",
    ["api PATCH /instances/ID -f max_price=1", "api POST /instances/ID/bid -f price=1", "bidding ID 1", "stop --fast"],
)
def test_a_line_that_would_fail_is_noticed(line: str) -> None:
    with pytest.raises((click.UsageError, AssertionError, ValueError)):
        context = parse(shlex.split(line))
        check_operation(context)
