"""Every official image that `images/matrix.toml` gives to CI: built, started by the agent, and asked on its port."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from agents.protocol.messages import DesiredInstance
from scripts.images.build import How, build, read_sbom
from scripts.images.matrix import Flavour, read_matrix, with_starts
from scripts.images.wheels import FilesMissing
from tests.docker.conftest import Host, Ssh, free_port
from tests.docker.official import CHECKS, Rented

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]

# Under names of their own: an operator's images stay as they are.
MATRIX: Final = {key: replace(flavour, repository="berth-test") for key, flavour in read_matrix().items()}
IN_CI: Final = [flavour for flavour in MATRIX.values() if flavour.in_ci]
DONE: Final[set[str]] = set()


def built(flavour: Flavour) -> str:
    """Its reference; what it starts from is built before it, and nothing twice.

    Where pip does not find what is handed over, since no public package index has PyTorch's CPU build: skipped by hand,
    failed where an index is promised.
    """
    for one in with_starts(MATRIX, [flavour]):
        if one.key not in DONE:
            try:
                build(one, MATRIX[one.start].reference if one.start in MATRIX else one.start, How(compile=False))
            except FilesMissing as missing:
                if os.environ.get("BERTH_REQUIRE_TORCH") == "1":
                    raise
                pytest.skip(str(missing))
            DONE.add(one.key)
    return flavour.reference


@pytest.mark.parametrize("flavour", IN_CI, ids=lambda flavour: flavour.image)
def test_an_official_image_starts_and_answers(
    flavour: Flavour, host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh
) -> None:
    image = built(flavour)
    host.start()
    inside = [22, 8888, 6006, *([flavour.port] if flavour.port else [])]
    ports = [(port, free_port()) for port in inside]
    order = new_order(host, image=image, ports=ports, cpu_millis=2000, ram_mb=4096)
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    CHECKS[flavour.image](Rented(flavour, order, ssh))
    assert ssh.run(order, "berth-build check", timeout=60).returncode == 0
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


@pytest.mark.parametrize("flavour", IN_CI, ids=lambda flavour: flavour.image)
def test_an_official_image_says_what_is_in_it(flavour: Flavour, engine: object) -> None:
    listed = json.loads(read_sbom(built(flavour)))
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    urls = [part["purl"] for part in listed["components"]]
    for start in ("pkg:deb/debian/openssh-server@", "pkg:pypi/jupyterlab@"):
        assert [url for url in urls if url.startswith(start)], start
    kind = "npm" if (flavour.folder / "package.json").exists() else "pypi"
    for one in with_starts(MATRIX, [flavour]):
        if one.package:
            name = f"pkg:{kind if one is flavour else 'pypi'}/{one.package}@{one.version}"
            assert [url for url in urls if url.partition("%2B")[0].partition("?")[0] == name], name


@pytest.mark.parametrize(("required", "outcome"), [("1", FilesMissing), ("", pytest.skip.Exception)])
def test_without_pytorch_tests_fail_where_it_is_promised(
    required: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing(*_: object) -> None:
        raise FilesMissing("pip doesn't find torch")

    monkeypatch.setenv("BERTH_REQUIRE_TORCH", required)
    monkeypatch.setattr(f"{__name__}.build", find_nothing)
    monkeypatch.setattr(f"{__name__}.DONE", set())
    with pytest.raises(outcome):
        built(MATRIX["pytorch:cpu"])
