"""The agent's release at the market: what is served, to whom, and the command that the console shows."""

import hashlib
import html
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from scripts.agent_release import make_key, make_release

WHEEL = "berth_agent-0.2.0-py3-none-any.whl"
RELEASE = "/agent/v1/release"


@pytest.fixture
def served(tmp_path: Path, settings: Any) -> Path:
    (tmp_path / WHEEL).write_bytes(b"a wheel")
    (tmp_path / "needs.txt").write_text("docker==7.1.0 --hash=sha256:00")
    settings.AGENT_RELEASE_KEY = make_key(tmp_path / "release.key")
    settings.AGENT_RELEASE_DIR = str(tmp_path / "release")
    make_release(tmp_path / "release.key", tmp_path / WHEEL, tmp_path / "needs.txt", tmp_path / "release")
    (tmp_path / "release" / "other.txt").write_text("not a part of it")
    return tmp_path / "release"


def content(client: Client, name: str) -> bytes:
    answer = client.get(f"{RELEASE}/{name}")
    assert answer.status_code == 200, name
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def test_a_release_is_served_whole(client: Client, served: Path) -> None:
    for name in ("release.json", "release.sig", "requirements.txt", WHEEL):
        assert content(client, name) == (served / name).read_bytes()


@pytest.mark.parametrize("name", ["other.txt", "release.key", "..%2Frelease.key", "%2Fetc%2Fpasswd", "release.json%00", ""])
def test_nothing_else_is(client: Client, served: Path, name: str) -> None:
    assert client.get(f"{RELEASE}/{name}").status_code in (400, 404)


def test_a_market_without_a_release(client: Client, settings: Any, tmp_path: Path) -> None:
    assert client.get(f"{RELEASE}/release.json").status_code == 404
    settings.AGENT_RELEASE_DIR, settings.AGENT_RELEASE_KEY = str(tmp_path), "ab" * 32
    assert client.get(f"{RELEASE}/release.json").status_code == 404


@pytest.mark.django_db
def test_the_console_shows_the_command_that_installs(client: Client, hana: User, served: Path, settings: Any) -> None:
    client.force_login(hana)
    form = {"host_name": "lab", "region": "eu", "price_micros": "0.50"}
    page = client.post("/hosts/enrol", form, headers={"HX-Request": "true"})
    shown = html.unescape(page.content.decode())
    script = client.get("/agent/v1/install.sh").content
    release = hashlib.sha256((served / "release.json").read_bytes()).hexdigest()
    assert (
        "curl -fsSo berth-install.sh http://testserver/agent/v1/install.sh"
        f" && echo '{hashlib.sha256(script).hexdigest()}  berth-install.sh' | sha256sum -c --quiet"
        f" && sudo sh berth-install.sh --url http://testserver --token {page.context['secret']} --release {release}"
        f" --release-key {settings.AGENT_RELEASE_KEY}</code>"
    ) in shown
    assert "systemctl enable" not in shown, "the script does it"
