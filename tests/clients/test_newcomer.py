"""A newcomer's first instance with the program as it is installed, from the login to the release, by the clock."""

import time
from pathlib import Path

import httpx
import pytest

from agents.daemon import __version__
from tests.clients.installing import install
from tests.clients.real_market import engine, image, real_market, ssh_key  # noqa: F401 fixtures
from tests.clients.terminal import Terminal
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

AT_MOST_S = 180


@pytest.fixture
def newcomer(real_market: Stack, ssh_key: Path, tmp_path: Path) -> Terminal:  # noqa: F811 fixtures
    """Someone with the market's own wheel, a key in the usual place, and nothing else."""
    name = f"berth-{__version__}-py3-none-any.whl"
    wheel = tmp_path / name
    wheel.write_bytes(httpx.get(f"{real_market.url}/downloads/{name}").raise_for_status().content)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    for suffix in ("", ".pub"):
        file = tmp_path / ".ssh" / f"id_ed25519{suffix}"
        file.write_bytes(ssh_key.with_suffix(suffix).read_bytes())
        file.chmod(0o600)
    return Terminal(tmp_path, program=[str(install(wheel, tmp_path))], settings={"PYTHONPATH": ""})


def test_from_the_login_to_the_release(real_market: Stack, newcomer: Terminal) -> None:  # noqa: F811 fixtures
    begins, must = time.monotonic(), newcomer.must
    must("login", real_market.url, "--token-stdin", text=real_market.people["bob"]["token"])
    must("ssh-key", "add")
    assert "RTX 4090" in must("search", "4090", "price<100")
    must("rent", "4090", "--image", "berth-test", "--disk", "1", "--name", "first", "--max-price", "100", "--yes")

    assert must("ssh", "first", "--", "id", "-un") == "root\n"
    assert must("exec", "first", "--", "sh", "-c", "echo trained > /proc/1/fd/1; echo done") == "done\n"
    model = newcomer.home / "model.bin"
    model.write_bytes(bytes(range(256)) * 4096)
    must("cp", str(model), "first:/data/")
    must("cp", "first:/data/model.bin", str(newcomer.home / "back.bin"))
    assert (newcomer.home / "back.bin").read_bytes() == model.read_bytes()
    must("cp", "--api", "first:/data/model.bin", str(newcomer.home / "again.bin"))
    assert (newcomer.home / "again.bin").read_bytes() == model.read_bytes()
    wait_until("the log", lambda: "trained" in must("logs", "first"), timeout=30)

    must("stop", "first", "--wait")
    must("rm", "first", "--yes", "--wait")
    assert newcomer.json("ls") == []
    assert time.monotonic() - begins < AT_MOST_S
