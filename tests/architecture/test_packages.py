"""What each package says about itself: one licence, one version, written once."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from agents.daemon import __version__

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PROJECTS: Final = ("pyproject.toml", "agents/pyproject.toml")


def read_toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROJECTS)
def test_every_project_is_under_the_licence(name: str) -> None:
    project = read_toml(name)["project"]
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert (ROOT / name).with_name("LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert json.loads((ROOT / "package.json").read_text())["license"] == "MIT"


@pytest.mark.parametrize("name", PROJECTS)
def test_every_project_takes_its_version_from_one_place(name: str) -> None:
    settings = read_toml(name)
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "agents.daemon.__version__"}
    assert "version" not in json.loads((ROOT / "package.json").read_text())


def test_the_newest_release_of_the_change_log_is_this_version() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] == "## Unreleased"
    assert headings[1].split()[1] == __version__


def test_the_agents_wheel_holds_every_package_of_the_agent() -> None:
    listed = read_toml("agents/pyproject.toml")["tool"]["setuptools"]["packages"]
    found = {".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "agents/daemon").rglob("__init__.py")}
    assert set(listed) == {"agents", "agents.protocol", *found}
