"""Launch templates over the API: made, versioned, seen, reviewed, rented with."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import AccountEvent, User
from accounts.teams.services import create_team
from common import clock
from common.ids import public_id
from instances.models import Instance, Launch
from marketplace.models import Host
from scripts.images.matrix import read_matrix
from storage.models import Image
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Sign
from workloads.constants import README_BYTES, TEMPLATES_AT_MOST
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.templates.moderation import approve_version, reject_version
from workloads.templates.official import register_official_templates
from workloads.templates.selectors import template_key
from workloads.templates.services import create_template
from workloads.templates.use_counts import record_template_uses

CONTENT: dict[str, Any] = {
    "image": "berth-base",
    "launch": {"env": {"MODE": "fast"}, "command": ["python", "serve.py"], "secrets": ["HF_TOKEN"]},
    "inputs": [
        {"name": "MODEL", "label": "Model", "kind": "choice", "choices": ["small", "large"], "default": "small"},
        {"name": "THREADS", "kind": "number", "required": True, "default": 4},
    ],
    "ports": [{"port": 8000, "name": "API", "protocol": "http"}],
    "filter": "vram>=8",
    "data_disk_gb": 30,
    "readme": "# Hello",
}


@pytest.fixture
def able(host: FakeHost) -> FakeHost:
    Host.objects.update(launch_settings=True)
    return host


@pytest.fixture
def api(rin: User, sign: Sign) -> Client:
    return sign(rin)


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


def patch(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.patch(f"/api/v1/{path}", body, content_type="application/json")


def made(client: Client, **changes: Any) -> Any:
    answer = post(client, "launch-templates", {"title": "My server", "icon": "🚀", **CONTENT, **changes})
    assert answer.status_code == 201, answer.json()
    return answer.json()


def refused(client: Client, **changes: Any) -> list[str]:
    answer = post(client, "launch-templates", {"title": "My server", **CONTENT, **changes})
    assert answer.status_code == 400, answer.json()
    return [each["field"] for each in answer.json()["errors"]]


def test_template_is_stored_by_its_content(api: Client, able: FakeHost) -> None:
    template = made(api)
    version = template["version"]
    assert template["slug"] == "my-server" and template["visibility"] == "private" and template["own"]
    assert version["number"] == 1 and version["content_hash"].startswith(version["version"])
    assert version["launch"]["env"] == {"MODE": "fast"} and version["launch"]["secrets"] == []
    assert [each["name"] for each in version["inputs"]] == ["MODEL", "THREADS", "HF_TOKEN"]
    again = post(api, f"launch-templates/{template['id']}/versions", CONTENT)
    assert again.json()["content_hash"] == version["content_hash"]
    other = post(api, f"launch-templates/{template['id']}/versions", {**CONTENT, "readme": "new"}).json()
    assert other["number"] == 2 and other["content_hash"] != version["content_hash"]
    listed = api.get(f"/api/v1/launch-templates/{template['id']}/versions").json()["results"]
    assert [row["number"] for row in listed] == [2, 1]
    assert AccountEvent.objects.filter(kind="template.created").count() == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"image": "no-such-image"}, "image"),
        ({"launch": {"secrets": {"A": "value"}}}, "launch.secrets"),
        ({"launch": {"secrets": [{}]}}, "launch.secrets"),
        ({"launch": {"secrets": [["A"]]}}, "launch.secrets"),
        ({"inputs": [{"name": "A", "kind": "secret", "default": "x"}]}, "inputs[0].default"),
        ({"inputs": [{"name": "NVIDIA_VISIBLE_DEVICES"}]}, "inputs[0].name"),
        ({"inputs": [{"name": "MODE"}]}, "launch.env.MODE"),
        ({"inputs": [{"name": f"A{n}"} for n in range(31)]}, "inputs"),
        ({"inputs": [{"name": "A"}, {"name": "A"}]}, "inputs.A"),
        ({"ports": [{"port": 53, "protocol": "sctp"}]}, "ports[0].protocol"),
        ({"ports": [0]}, "ports[0].port"),
        ({"filter": "vram>=8 " * 100}, "filter"),
        ({"filter": "nonsense~1"}, "filter"),
        ({"min_cuda": "new"}, "min_cuda"),
        ({"readme": "x" * (README_BYTES + 1)}, "readme"),
        ({"launch": {"workdir": "relative"}}, "launch.workdir"),
        ({"icon": "<b>"}, "icon"),
    ],
)
def test_wrong_field_is_named(api: Client, able: FakeHost, changes: dict[str, Any], field: str) -> None:
    assert field in refused(api, **changes)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (f"host=host_{'0' * 32}", "host"),
        (f"verified host in [host_{'0' * 32}]", "host"),
        ("vram>=8 count>=2", "count"),
        ("count=1", "count"),
        ("count in [1, 2]", "count"),
        ("GPU_COUNT = 2", "count"),
        (f"count<4 HOST != host_{'0' * 32}", "count, host"),
    ],
)
def test_filter_chooses_neither_host_nor_number_of_gpus(api: Client, able: FakeHost, line: str, names: str) -> None:
    """Whoever writes a template would choose where others rent, or how much."""
    body = {"title": "My server", **CONTENT, "filter": line}
    answer = post(api, "launch-templates", body)
    (wrong,) = answer.json()["errors"]
    assert (answer.status_code, wrong["field"], wrong["code"]) == (400, "filter", "renters_choice")
    assert f"Leave out {names}:" in wrong["detail"]
    template = made(api, filter='vram>=8 gpu_total>=4 region="host=1 count=2"')
    answer = post(api, f"launch-templates/{template['id']}/versions", {**CONTENT, "filter": line})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "renters_choice")


def test_owner_has_a_limited_number(api: Client, able: FakeHost, rin: User, hana: User) -> None:
    LaunchTemplate.objects.bulk_create(LaunchTemplate(owner=rin, slug=f"t{n}", title="t") for n in range(TEMPLATES_AT_MOST))
    first = create_template(owner=hana, title="x", content=CONTENT).newest
    LaunchTemplate.objects.filter(owner=rin).update(newest=first)
    answer = post(api, "launch-templates", {"title": "One more", **CONTENT})
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many")


def test_name_is_the_owners_own(api: Client, able: FakeHost, hana: User, sign: Sign) -> None:
    made(api)
    assert post(api, "launch-templates", {"title": "My server", **CONTENT}).json()["code"] == "template_name_taken"
    assert made(sign(hana))["slug"] == "my-server"


def test_private_template_exists_for_nobody_else(api: Client, able: FakeHost, bob: User, sign: Sign) -> None:
    template, other = made(api), sign(bob)
    key = template["id"]
    assert other.get(f"/api/v1/launch-templates/{key}").status_code == 404
    assert other.get(f"/api/v1/launch-templates/{key}/versions").status_code == 404
    assert post(other, f"launch-templates/{key}/render", {}).status_code == 404
    assert post(other, f"launch-templates/{key}/versions", CONTENT).status_code == 404
    assert patch(other, f"launch-templates/{key}", {"title": "Mine"}).status_code == 404
    assert other.delete(f"/api/v1/launch-templates/{key}").status_code == 404
    offer = f"offr_{able.offer.pk.hex}"
    assert post(other, "quotes", {"offer": offer, "launch_template": key}).status_code == 404
    assert other.get("/api/v1/launch-templates").json()["results"] == []


def test_template_cannot_use_a_strangers_image(api: Client, able: FakeHost, bob: User) -> None:
    Image.objects.create(slug="bobs", title="Bob", reference="x@sha256:1", owner=bob, source="named", official=False)
    assert refused(api, image="bobs") == ["image"]


def test_private_image_is_not_published(api: Client, able: FakeHost, rin: User) -> None:
    Image.objects.create(slug="mine", title="Mine", reference="x@sha256:1", owner=rin, source="named", official=False)
    template = made(api, image="mine")
    for change in ({"visibility": "public"}, {"share_link": True}):
        answer = patch(api, f"launch-templates/{template['id']}", change)
        assert (answer.status_code, answer.json()["code"]) == (409, "template_image_not_shared")


def test_team_sees_a_teams_template(api: Client, able: FakeHost, rin: User, bob: User, sign: Sign) -> None:
    team = create_team(user=rin, name="Lab")
    key = made(api)["id"]
    answer = patch(api, f"launch-templates/{key}", {"visibility": "team", "team": public_id("team", team.pk)})
    assert answer.status_code == 200
    assert sign(bob).get(f"/api/v1/launch-templates/{key}").status_code == 404
    team.memberships.create(user=bob, role="member", email=bob.email, joined_at=clock.now())
    assert sign(bob).get(f"/api/v1/launch-templates/{key}").status_code == 200
    team.delete()
    assert sign(bob).get(f"/api/v1/launch-templates/{key}").status_code == 404


def test_public_template_is_seen_after_approval_only(
    api: Client, able: FakeHost, bob: User, sign: Sign, stella: User
) -> None:
    key, other = made(api)["id"], sign(bob)
    assert patch(api, f"launch-templates/{key}", {"visibility": "public"}).json()["version"]["review"] == "submitted"
    assert other.get(f"/api/v1/launch-templates/{key}").status_code == 404
    first = TemplateVersion.objects.get()
    approve_version(staff=stella, version_id=first.pk)
    assert other.get(f"/api/v1/launch-templates/{key}").json()["version"]["readme"] == "# Hello"

    post(api, f"launch-templates/{key}/versions", {**CONTENT, "readme": "unseen"})
    assert other.get(f"/api/v1/launch-templates/{key}").json()["version"]["readme"] == "# Hello"
    second = TemplateVersion.objects.get(number=2)
    answer = post(other, f"launch-templates/{key}/render", {"version": second.short_hash})
    assert answer.status_code == 404
    named = {"offer": f"offr_{able.offer.pk.hex}", "launch_template": f"{key}@{second.short_hash}"}
    assert post(other, "quotes", named).status_code == 404

    reject_version(staff=stella, version_id=second.pk, reason="Mines coins")
    assert api.get(f"/api/v1/launch-templates/{key}").json()["version"]["review_reason"] == "Mines coins"
    reject_version(staff=stella, version_id=first.pk, reason="All of it")
    assert other.get(f"/api/v1/launch-templates/{key}").status_code == 404


def test_late_approval_of_an_older_version_replaces_no_newer_one(
    api: Client, able: FakeHost, bob: User, sign: Sign, stella: User
) -> None:
    key, other = made(api)["id"], sign(bob)
    patch(api, f"launch-templates/{key}", {"visibility": "public"})
    post(api, f"launch-templates/{key}/versions", {**CONTENT, "readme": "newer"})
    first, second = TemplateVersion.objects.order_by("number")
    approve_version(staff=stella, version_id=second.pk)
    approve_version(staff=stella, version_id=first.pk)
    assert other.get(f"/api/v1/launch-templates/{key}").json()["version"]["readme"] == "newer"
    reject_version(staff=stella, version_id=second.pk, reason="Mines coins")
    assert other.get(f"/api/v1/launch-templates/{key}").json()["version"]["readme"] == "# Hello"


def test_title_of_a_public_template_is_reviewed_too(
    api: Client, able: FakeHost, stella: User, sign: Sign, bob: User
) -> None:
    key = made(api)["id"]
    patch(api, f"launch-templates/{key}", {"visibility": "public"})
    approve_version(staff=stella, version_id=TemplateVersion.objects.get().pk)
    assert patch(api, f"launch-templates/{key}", {"title": "Free money"}).json()["code"] == "template_is_public"
    patch(api, f"launch-templates/{key}", {"visibility": "private"})
    patch(api, f"launch-templates/{key}", {"title": "Free money"})
    patch(api, f"launch-templates/{key}", {"visibility": "public"})
    assert sign(bob).get(f"/api/v1/launch-templates/{key}").status_code == 404


def test_share_link_opens_it_until_withdrawn(api: Client, able: FakeHost, bob: User, sign: Sign) -> None:
    key = made(api)["id"]
    token = patch(api, f"launch-templates/{key}", {"share_link": True}).json()["share_token"]
    shown = sign(bob).get(f"/api/v1/launch-templates/share_{token}")
    assert shown.status_code == 200 and shown.json()["share_token"] is None
    patch(api, f"launch-templates/{key}", {"share_link": False})
    assert sign(bob).get(f"/api/v1/launch-templates/share_{token}").status_code == 404
    assert sign(bob).get("/api/v1/launch-templates/share_").status_code == 404


# -- orders


def quoted(api: Client, host: FakeHost, **wishes: Any) -> Any:
    return post(api, "quotes", {"offer": f"offr_{host.offer.pk.hex}", **wishes})


def test_order_runs_the_template_with_what_the_request_says_over_it(api: Client, able: FakeHost) -> None:
    template = made(api)
    wishes = {
        "launch_template": template["slug"],
        "inputs": {"MODEL": "large", "THREADS": 8, "HF_TOKEN": "s3cret"},
        "env": {"MODE": "slow", "MORE": "1"},
    }
    quote = quoted(api, able, **wishes).json()
    assert quote["launch"]["env"] == {"MODE": "slow", "MORE": "1", "MODEL": "large", "THREADS": "8"}
    assert quote["launch"]["secrets"] == ["HF_TOKEN"] and quote["data_disk_gb"] == 30
    assert quote["launch_template"]["version"] == template["version"]["version"]
    post(api, f"launch-templates/{template['id']}/versions", {**CONTENT, "launch": {"env": {"MODE": "other"}}})
    rented = post(api, "instances", {"quote_id": quote["id"]})
    assert rented.status_code == 201, rented.json()
    row = Instance.objects.get()
    assert (
        row.launch is not None and row.launch.command == ["python", "serve.py"] and "s3cret" not in str(row.quote.template)
    )
    assert 8000 in {inside for inside, _outside in row.ports}
    assert rented.json()["launch_template"]["version"] == template["version"]["version"]
    record_template_uses()
    assert LaunchTemplate.objects.get().use_count == 1
    assert "s3cret" not in str(list(TemplateVersion.objects.values_list("content")))
    api.delete(f"/api/v1/launch-templates/{template['id']}")
    assert api.get(f"/api/v1/instances/{rented.json()['id']}").json()["launch_template"]["slug"] == "my-server"


def test_missing_input_is_named_before_anything_is_paid(api: Client, able: FakeHost) -> None:
    key = made(api)["id"]
    answer = quoted(api, able, launch_template=key, inputs={"MODEL": "huge", "NO": "1"})
    assert answer.status_code == 400
    assert {each["field"] for each in answer.json()["errors"]} == {"inputs.NO", "inputs.MODEL", "inputs.HF_TOKEN"}
    assert not Launch.objects.exists()


@pytest.mark.parametrize(
    ("needs", "field"),
    [({"min_vram_gb": 1000}, "min_vram_gb"), ({"min_cuda": "99.0"}, "min_cuda"), ({"min_driver": "9999.1"}, "min_driver")],
)
def test_offer_without_what_it_needs_is_refused(api: Client, able: FakeHost, needs: dict[str, Any], field: str) -> None:
    key = made(api, launch={}, inputs=[], **needs)["id"]
    answer = quoted(api, able, launch_template=key)
    assert (answer.status_code, answer.json()["code"]) == (409, "template_unfit")
    assert [each["field"] for each in answer.json()["errors"]] == [field]


def test_template_with_a_udp_port_needs_a_host_that_publishes_it(api: Client, able: FakeHost) -> None:
    key = made(api, launch={}, inputs=[], ports=[{"port": 51820, "protocol": "udp"}])["id"]
    answer = quoted(api, able, launch_template=key)
    assert (answer.status_code, answer.json()["code"]) == (409, "template_unfit")
    assert [each["field"] for each in answer.json()["errors"]] == ["ports"]
    Host.objects.update(publishes_udp=True, udp_reached=False)  # its self-test has found that UDP doesn't arrive
    assert quoted(api, able, launch_template=key).json()["code"] == "template_unfit"
    Host.objects.update(udp_reached=None)
    quote = quoted(api, able, launch_template=key).json()
    instance = post(api, "instances", {"quote_id": quote["id"], "launch_template": key}).json()
    ports = api.get(f"/api/v1/instances/{instance['id']}/access").json()["ports"]
    assert [row["container"] for row in ports if row["udp"]] == [51820]


def test_order_of_another_template_is_a_mismatch(api: Client, able: FakeHost) -> None:
    quote = quoted(api, able, image="berth-base").json()
    key = made(api, launch={}, inputs=[])["id"]
    answer = post(api, "instances", {"quote_id": quote["id"], "launch_template": key})
    assert answer.json()["code"] == "quote_mismatch"
    assert answer.json()["errors"][0]["field"] == "launch_template"
    assert quoted(api, able, image="berth-base", inputs={"A": "1"}).json()["errors"][0]["field"] == "inputs"


def test_render_shows_what_an_order_would_run(api: Client, able: FakeHost) -> None:
    key = made(api)["id"]
    shown = post(api, f"launch-templates/{key}/render", {"inputs": {"HF_TOKEN": "x"}, "workdir": "/srv"}).json()
    assert shown["launch"]["secrets"] == ["HF_TOKEN"] and shown["launch"]["workdir"] == "/srv"
    assert shown["launch"]["env"] == {"MODE": "fast", "MODEL": "small", "THREADS": "4"}


def test_official_templates_follow_the_images(api: Client, able: FakeHost, client: Client) -> None:
    assert register_official_templates() == 1
    assert register_official_templates() == 0
    [shown] = client.get("/api/v1/launch-templates").json()["results"]
    assert shown["slug"] == "ssh-jupyter" and shown["official"]
    assert quoted(api, able, launch_template="ssh-jupyter").status_code == 201
    Image.objects.update(active=False)
    register_official_templates()
    assert client.get("/api/v1/launch-templates").json()["results"] == []


def test_each_official_image_has_a_template(api: Client, able: FakeHost, client: Client) -> None:
    wanted = {flavour.image: flavour for flavour in read_matrix().values()}
    for name, flavour in wanted.items():
        if name != "base":  # there is one
            Image.objects.create(slug=f"{name}-cpu", title=flavour.title, reference=f"berth/{name}@sha256:1")
    assert register_official_templates() == len(wanted)
    shown = {row["version"]["image"]: row for row in client.get("/api/v1/launch-templates").json()["results"]}
    assert shown.keys() == {"berth-base" if name == "base" else f"{name}-cpu" for name in wanted}
    for name, flavour in wanted.items():
        row = shown["berth-base" if name == "base" else f"{name}-cpu"]
        assert [port["port"] for port in row["version"]["ports"]] == ([flavour.port] if flavour.port else []), name
        requested = {"inputs": {"MODEL": "some/model"}} if name in ("llm", "diffusion") else {}
        assert quoted(api, able, launch_template=row["slug"], data_disk_gb=10, **requested).status_code == 201, name


def test_an_official_template_takes_the_newest_image_for_gpus(db: None, client: Client) -> None:
    for at, (slug, cuda) in enumerate(
        (("pytorch-2-12-cuda13-0", "13.0"), ("pytorch-2-13-cuda13-0", "13.0"), ("pytorch-a-cpu", ""))
    ):
        when = clock.now() + timedelta(seconds=at)
        Image.objects.create(slug=slug, title="PyTorch", reference=f"berth/{slug}@sha256:1", cuda=cuda, created_at=when)
    register_official_templates()
    listed = client.get("/api/v1/launch-templates").json()["results"]
    assert [row["version"]["image"] for row in listed if "pytorch" in row["version"]["image"]] == ["pytorch-2-13-cuda13-0"]


def test_list_is_searched(api: Client, able: FakeHost) -> None:
    made(api)
    key = template_key(LaunchTemplate.objects.get())
    for query, found in (("q=server", 1), ("q=none", 0), ("source=own", 1), ("source=public", 0), ("category=other", 1)):
        rows = api.get(f"/api/v1/launch-templates?{query}").json()["results"]
        assert [row["id"] for row in rows] == [key] * found, query
