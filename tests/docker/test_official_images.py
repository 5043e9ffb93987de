"""Every official image that `images/matrix.toml` gives to CI: built, started by the agent, and asked on its port.

Two of them are rented on a whole market, too, by their templates and with the inputs that these ask for.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import httpx
import pytest

from agents.protocol.messages import DesiredInstance
from scripts.images.build import How, build, read_sbom
from scripts.images.matrix import Flavour, read_matrix, with_starts
from scripts.images.wheels import FilesMissing
from tests.docker.conftest import Host, Ssh, free_port
from tests.docker.official import CHECKS, PATIENCE_S, Rented
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

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


# -- by the templates

RENTED: Final = ("code-server", "ray")  # which need no PyTorch
SECRET: Final = "0wn-and-n0-token"


@pytest.fixture(scope="module")
def stack(services: None, engine: object) -> Iterator[Stack]:
    stack = Stack(open_folder())
    try:
        stack.start()
        for name in RENTED:
            stack.run_module("tests.stack.seed", "image", f"{name}-cpu", built(MATRIX[f"{name}:cpu"]))
        renting.wait_for_templates(stack.client("alice"), set(RENTED))
        listen = ("--ports", "20000-20999", "--listen", "127.0.0.1")
        stack.enrol("official", "--runtime", "docker", "--simulate-gpus", "RTX 4090:1", *listen)
        yield stack
    finally:
        stack.stop()


def rent_by_template(client: httpx.Client, slug: str, inputs: dict[str, str]) -> dict[str, Any]:
    offer = renting.offer_of(client, "official")
    template = client.get(f"/api/v1/launch-templates/{slug}").raise_for_status().json()
    assert {each["name"] for each in template["version"]["inputs"]} == inputs.keys()
    order = {"offer": offer["id"], "launch_template": slug, "inputs": inputs, "data_disk_gb": 1}
    quote = client.post("/api/v1/quotes", json=order)
    assert quote.status_code == httpx.codes.CREATED, quote.text
    made = client.post("/api/v1/instances", json={"quote_id": quote.json()["id"], "name": slug})
    assert made.status_code == httpx.codes.CREATED, made.text
    return renting.wait_for_state(client, made.json(), "running")


def port_of(client: httpx.Client, instance: dict[str, Any], inside: int) -> str:
    """Where the template's port is once its readiness check has passed."""
    wait_until(
        f"{instance['name']} to be ready",
        lambda: (renting.read(client, instance)["launch_status"] or {}).get("ready") == "ready",
        timeout=PATIENCE_S,
    )
    access = client.get(f"/api/v1/instances/{instance['id']}/access").raise_for_status().json()
    [port] = [row["host"] for row in access["ports"] if row["container"] == inside]
    return f"http://127.0.0.1:{port}"


def test_code_server_rented_by_its_template_takes_the_password_that_was_entered(stack: Stack) -> None:
    client = stack.client("alice")
    instance = rent_by_template(client, "code-server", {"PASSWORD": SECRET})
    with httpx.Client(base_url=port_of(client, instance, 8080), timeout=60) as editor:
        assert editor.get("/").headers["Location"].startswith("./login")
        form = {"base": ".", "href": str(editor.base_url)}
        assert "Incorrect password" in editor.post("/login", data={**form, "password": "wrong"}).text
        assert editor.post("/login", data={**form, "password": SECRET}).status_code == httpx.codes.FOUND
        assert "vscode-workbench-web-configuration" in editor.get("/", follow_redirects=True).text
    renting.release(client, instance)


def test_ray_rented_by_its_template_takes_the_token_that_was_entered(stack: Stack) -> None:
    client = stack.client("alice")
    instance = rent_by_template(client, "ray", {"RAY_AUTH_TOKEN": SECRET})
    with httpx.Client(base_url=port_of(client, instance, 8265), timeout=60) as head:
        assert head.get("/api/version").status_code == httpx.codes.UNAUTHORIZED
        known = head.get("/api/version", headers={"Authorization": f"Bearer {SECRET}"})
        assert known.raise_for_status().json()["ray_version"] == MATRIX["ray:cpu"].version
    renting.release(client, instance)
