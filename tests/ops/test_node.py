"""Which npm is called: the machine's where it is new enough, else the wheel's."""

import os
from pathlib import Path

import pytest

from devserver.node import major_version, npm_command


def stub(folder: Path, name: str, output: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {output}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(("text", "major"), [("v20.20.2\n", 20), ("v8.0.0", 8), ("", 0), ("not found", 0)])
def test_major_version(text: str, major: int) -> None:
    assert major_version(text) == major


def test_a_new_enough_node_of_the_machine_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path / "bin", "node", "v22.1.0")
    stub(tmp_path / "bin", "npm", "10")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/bin")
    assert npm_command() == [str(tmp_path / "bin" / "npm")]


@pytest.mark.parametrize("version", ["v16.0.0", None])
def test_else_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    if version is not None:
        stub(tmp_path / "bin", "node", version)
        stub(tmp_path / "bin", "npm", "8")
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + (f"{os.pathsep}/bin" if version else ""))
    node, npm = npm_command()
    assert Path(node).name == "node"
    assert Path(node).exists()
    assert Path(npm).name == "npm-cli.js"
    assert Path(npm).exists()
