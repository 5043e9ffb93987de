"""Templates from the name of an image and from a docker run line, with a registry over real HTTP in Docker Hub's place."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from storage.clients.oci_registry import client as registry_client
from storage.models import Image
from tests.instances.fixtures import Sign
from tests.storage.stub_registry import StubRegistry
from tests.web.html_forms import read_form
from workloads.models import LaunchTemplate, TemplateVersion

LINE = (
    "docker run -d --gpus all -e MODEL=tiny -e HF_TOKEN -p 8000:8000 --shm-size 2g --name chat --entrypoint python"
    " team/serve:v1 -m serve --fast"
)


@pytest.fixture
def hub(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubRegistry]:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with StubRegistry() as running:
        monkeypatch.setattr(registry_client, "api_host", {"docker.io": running.host}.__getitem__)
        monkeypatch.setattr(registry_client, "_scheme", {"docker.io": "http"}.__getitem__)
        yield running


@pytest.fixture
def digest(hub: StubRegistry) -> str:
    return hub.add("team/serve", "v1", Env=["CUDA_VERSION=12.4.1"])


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def saved(page: Client, line: str) -> dict[str, Any]:
    """Preview the line, and save the form that comes as it is."""
    shown = page.post("/templates/import", {"line": line})
    assert shown.status_code == 200, shown.content.decode()[:3000]
    assert not LaunchTemplate.objects.exists(), "nothing is saved before the form is sent"
    done = page.post("/templates/new", read_form(shown.content.decode(), "/templates/new").fields)
    assert done.status_code == 302, done.content.decode()[:3000]
    content: dict[str, Any] = TemplateVersion.objects.get().content
    return content


def check_image(content: dict[str, Any], digest: str) -> None:
    image = Image.objects.get(source="named")
    assert (content["image"], content["reference"]) == (image.slug, f"docker.io/team/serve@{digest}")
    assert (image.named_as, image.cuda) == ("docker.io/team/serve:v1", "12.4")


def check_line(content: dict[str, Any]) -> None:
    launch = content["launch"]
    assert (launch["env"], launch["entrypoint"]) == ({"MODEL": "tiny"}, ["python"])
    assert ([*launch["command"], *launch["args"]], launch["shm_mb"]) == (["-m", "serve", "--fast"], 2048)
    assert [(row["name"], row["required"]) for row in content["inputs"]] == [("HF_TOKEN", True)]
    assert [row["port"] for row in content["ports"]] == [8000]


@pytest.mark.parametrize("name", ["team/serve:v1", "docker.io/team/serve:v1", "hub.docker.com/team/serve:v1"])
def test_a_name_of_docker_hub_becomes_a_template_on_the_page(page: Client, digest: str, name: str) -> None:
    content = saved(page, name)
    check_image(content, digest)
    assert LaunchTemplate.objects.get().title == "serve"
    assert not content["launch"]["command"] and not content["inputs"] and not content["ports"]


def test_a_docker_run_line_becomes_a_template_on_the_page(page: Client, digest: str) -> None:
    shown = page.post("/templates/import", {"line": LINE}).content.decode()
    assert "<code>--gpus</code>" in shown and "<code>--detach</code>" in shown
    content = saved(page, LINE)
    check_image(content, digest)
    check_line(content)
    assert LaunchTemplate.objects.get().title == "chat"


@pytest.mark.parametrize("line", ["team/serve:v1", LINE])
def test_a_line_becomes_a_template_over_the_api(alice: User, sign: Sign, digest: str, line: str) -> None:
    api = sign(alice)

    def post(path: str, body: dict[str, Any], status: int) -> Any:
        answer = api.post(f"/api/v1/{path}", body, content_type="application/json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    read = post("launch-templates/import", {"line": line}, 200)
    assert (read["digest"], Image.objects.filter(source="named").count()) == (digest, 0)
    image = post("images", {"name": read["image"]}, 201)
    same = {name: read[name] for name in ("title", "launch", "inputs", "ports")}
    made = post("launch-templates", {**same, "image": image["id"]}, 201)
    content = TemplateVersion.objects.get().content
    assert made["version"]["image"] == image["slug"] == content["image"]
    check_image(content, digest)
    if line == LINE:
        check_line(content)


def test_a_name_that_the_hub_does_not_have_is_refused(page: Client, alice: User, sign: Sign, hub: StubRegistry) -> None:
    answer = page.post("/templates/import", {"line": "team/none:v1"})
    assert answer.status_code == 422 and "no image team/none" in answer.content.decode()
    body = {"line": "team/none:v1"}
    refused = sign(alice).post("/api/v1/launch-templates/import", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (422, "image_missing")
    assert not Image.objects.filter(source="named").exists()
