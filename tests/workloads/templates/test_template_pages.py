"""Launch templates on the pages: gallery, template, order, forms, review."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common.ids import new_uuid, public_id
from instances.launch.settings import validate
from instances.launch.store import secrets_of
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.models import Host
from storage.models import Image
from tests.instances.fake_host import FakeHost, order_running
from tests.web.html_forms import read_form
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.templates.official import register_official_templates
from workloads.templates.selectors import template_key
from workloads.templates.services import create_template

CONTENT: dict[str, Any] = {
    "image": "berth-base",
    "launch": {"env": {"MODE": "fast"}, "command": ["python", "serve.py"]},
    "inputs": [
        {"name": "MODEL", "kind": "choice", "choices": ["small", "large"], "default": "small"},
        {"name": "HF_TOKEN", "kind": "secret", "required": True},
    ],
    "ports": [8000],
    "data_disk_gb": 10,
    "readme": "# Hi\n\n<script>alert(1)</script>",
}


@pytest.fixture
def page(client: Client, rin: User, host: FakeHost) -> Client:
    Host.objects.update(launch_settings=True)
    client.force_login(rin)
    return client


@pytest.fixture
def mine(page: Client, rin: User) -> LaunchTemplate:
    return create_template(owner=rin, title="Server", content=CONTENT)


def text_of(page: Client, path: str) -> str:
    response = page.get(path)
    assert response.status_code == 200, path
    return response.content.decode()


def test_order_page_shows_what_the_template_sets(page: Client, host: FakeHost, mine: LaunchTemplate) -> None:
    register_official_templates()
    gallery = text_of(page, "/templates")
    assert gallery.index("SSH + JupyterLab") < gallery.index("Server")
    first = f"/templates/{template_key(mine)}"
    assert first in gallery
    shown = text_of(page, first)
    assert "<script>alert" not in shown and "&lt;script&gt;" in shown
    found = re.search(r'href="(/offers/[^"]+/rent\?template=[^"]+)"', shown)
    assert found is not None
    order = text_of(page, found[1].replace("&amp;", "&"))
    assert 'name="input-MODEL"' in order and 'type="password" name="input-HF_TOKEN"' in order
    assert 'value="fast"' in order and "python serve.py" in order


def test_the_disk_of_the_template_is_chosen_whatever_its_size(page: Client, host: FakeHost, rin: User) -> None:
    odd = create_template(owner=rin, title="Odd", content={"image": "berth-base", "data_disk_gb": 7})
    order = text_of(page, f"/offers/{public_id('offr', host.offer.pk)}/rent?template={template_key(odd)}")
    assert read_form(order, "rent-form").fields["data_disk_gb"] == ["7"]


def test_texts_of_official_templates_are_translated(page: Client, host: FakeHost) -> None:
    Image.objects.create(slug="llm-cpu", title="LLM", reference="berth/llm@sha256:1")
    register_official_templates()
    languages = {"en": ("LLM server", "API key that clients send"), "zh-hans": ("LLM 服务", "客户端使用的 API 密钥")}
    for language, (title, label) in languages.items():
        page.cookies["django_language"] = language
        assert title in text_of(page, "/templates")
        shown = text_of(page, "/templates/llm-server")
        assert title in shown and label in shown
        order = text_of(page, f"/offers/{public_id('offr', host.offer.pk)}/rent?template=llm-server")
        assert title in order and label in order and 'type="password" name="input-API_KEY"' in order


def choices(template: LaunchTemplate, **changes: Any) -> dict[str, Any]:
    chosen = {"gpu_count": "1", "image": "berth-base", "data_disk_gb": "10", "hours": "1", "name": "train"}
    launch = {"with_launch": "1", "env-0-name": "MODE", "env-0-value": "slow", "command": "python serve.py"}
    return {**chosen, **launch, "template": template_key(template), "input-MODEL": "large", **changes}


def test_order_page_rents_with_inputs(page: Client, host: FakeHost, mine: LaunchTemplate) -> None:
    path = f"/offers/{public_id('offr', host.offer.pk)}/rent"
    bill = page.post(f"{path}/quote", choices(mine), headers={"HX-Request": "true"}).content.decode()
    quote = re.search(r'name="quote_id" value="([^"]+)"', bill)
    assert quote is not None
    missing = page.post(path, choices(mine, quote_id=quote[1]))
    assert missing.status_code == 400 and "HF_TOKEN" in missing.content.decode() and not Instance.objects.exists()
    done = page.post(path, choices(mine, quote_id=quote[1], **{"input-HF_TOKEN": "s3cret"}))
    assert done.status_code == 302, done.content.decode()[:2000]
    row = Instance.objects.get()
    assert row.launch is not None and row.launch.env == {"MODE": "slow", "MODEL": "large"}
    assert row.launch.command == ["python", "serve.py"] and secrets_of(row.launch) == {"HF_TOKEN": "s3cret"}
    shown = text_of(page, done["Location"])
    assert f"/templates/{template_key(mine)}" in shown and "s3cret" not in shown


FORM = {
    "title": "Mine",
    "category": "other",
    "image": "berth-base",
    "with_launch": "1",
    "env-0-name": "TOKEN",
    "env-0-value": "",
    "env-0-secret": "on",
    "inputs": "MODEL choice default=a choices='a|b' label='Which model'\n",
    "ports": "8000/http API\n22000/tcp",
    "readme": "hello",
}


def test_form_makes_and_changes_a_template(page: Client) -> None:
    made = page.post("/templates/new", FORM)
    assert made.status_code == 302, made.content.decode()[:3000]
    row = LaunchTemplate.objects.get()
    assert row.newest is not None
    content = row.newest.content
    assert [each["name"] for each in content["inputs"]] == ["MODEL", "TOKEN"]
    assert content["ports"][0] == {"port": 8000, "protocol": "http", "name": "API"}
    edit = text_of(page, f"/templates/{template_key(row)}/edit")
    assert "Which model" in edit
    page.post(f"/templates/{template_key(row)}/edit", {**FORM, "readme": "other", "title": "Renamed"})
    row.refresh_from_db()
    assert row.title == "Renamed" and TemplateVersion.objects.count() == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"env-0-value": "v"}, "launch.secrets"),
        ({"ports": "web"}, "ports"),
        ({"inputs": "A 'x"}, "inputs"),
        ({"image": "x"}, "image"),
        ({"filter": "vram>=8 count>=2"}, "filter"),
    ],
)
def test_form_says_what_is_wrong(page: Client, changes: dict[str, str], message: str) -> None:
    answer = page.post("/templates/new", {**FORM, **changes})
    assert answer.status_code == 400 and f"<code>{message}</code>" in answer.content.decode()


PLANTED = ("pl4nted-of-the-hub", "pl4nted-of-the-log")


def test_instance_is_saved_as_a_template_without_its_secrets(page: Client, host: FakeHost, rin: User) -> None:
    settings = {
        "env": {"MODE": "fast"},
        "secrets": dict(zip(("HF_TOKEN", "LOG_KEY"), PLANTED, strict=True)),
        "command": ["python", "serve.py"],
        "on_start": "echo up",
    }
    quote = create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", launch=validate(settings))
    instance = rent_instance(renter=rin, quote_id=quote.pk, name="train")
    assert instance.launch is not None and secrets_of(instance.launch) == settings["secrets"]
    link = f"/templates/new?instance={public_id('inst', instance.pk)}"
    assert link in text_of(page, f"/instances/{public_id('inst', instance.pk)}")
    shown = text_of(page, link)
    done = page.post("/templates/new", read_form(shown, "/templates/new").fields)
    assert done.status_code == 302, done.content.decode()[:3000]
    [version] = TemplateVersion.objects.all()
    launch = version.content["launch"]
    assert (version.content["image"], launch["env"], launch["command"]) == (
        "berth-base",
        {"MODE": "fast"},
        settings["command"],
    )
    assert launch["on_start"] == "echo up"
    assert [(row["name"], row["kind"], row["required"]) for row in version.content["inputs"]] == [
        ("HF_TOKEN", "secret", True),
        ("LOG_KEY", "secret", True),
    ]
    places = {"form": shown, "content": json.dumps(version.content), "page": text_of(page, done["Location"])}
    assert [(name, secret) for name, text in places.items() for secret in PLANTED if secret in text] == []


def test_instance_of_someone_else_is_saved_by_nobody(page: Client, host: FakeHost, rin: User, bob: User) -> None:
    instance = order_running(rin, host)
    other = Client()
    other.force_login(bob)
    assert other.get(f"/templates/new?instance={public_id('inst', instance.pk)}").status_code == 404
    assert page.get(f"/templates/new?instance={public_id('inst', new_uuid())}").status_code == 404


def test_command_that_is_not_changed_keeps_its_words(page: Client, mine: LaunchTemplate) -> None:
    path = f"/templates/{template_key(mine)}/edit"
    text = text_of(page, path)
    found = re.search(r'name="shown_words" value="([^"]*)"', text)
    assert found is not None
    words = unescape(found[1])
    for command, stored in (("python serve.py", ["python", "serve.py"]), ("python x", ["/bin/sh", "-c", "python x", "sh"])):
        answer = page.post(path, {**FORM, "title": "Server", "command": command, "shown_words": words})
        assert answer.status_code == 302
        mine.refresh_from_db()
        assert mine.newest is not None and mine.newest.content["launch"]["command"] == stored


def test_strangers_get_404(page: Client, mine: LaunchTemplate, bob: User) -> None:
    other = Client()
    other.force_login(bob)
    for path in ("", "/edit"):
        assert other.get(f"/templates/{template_key(mine)}{path}").status_code == 404
    for path in ("/visibility", "/link", "/delete"):
        assert other.post(f"/templates/{template_key(mine)}{path}", {"visibility": "private"}).status_code == 404


def test_owner_shares_and_deletes(page: Client, mine: LaunchTemplate) -> None:
    path = f"/templates/{template_key(mine)}"
    page.post(f"{path}/visibility", {"visibility": "public"})
    page.post(f"{path}/link", {"on": "1"})
    mine.refresh_from_db()
    assert mine.visibility == "public" and mine.share_token
    assert Client().get(f"/templates/share_{mine.share_token}").status_code == 200
    assert Client().get(path).status_code == 404
    page.post(f"{path}/delete")
    assert Client().get(f"/templates/share_{mine.share_token}").status_code == 404


def test_import_refuses_by_name(page: Client) -> None:
    answer = page.post("/templates/import", {"line": "docker run -v /:/host nginx"})
    assert answer.status_code == 422 and "--volume" in answer.content.decode()


def test_staff_reviews_in_the_panel(page: Client, mine: LaunchTemplate, stella: User) -> None:
    page.post(f"/templates/{template_key(mine)}/visibility", {"visibility": "public"})
    staff = Client()
    staff.force_login(stella)
    version = TemplateVersion.objects.get()
    path = f"/admin/workloads/templateversion/{version.pk}/change/"
    assert "&lt;script&gt;" in text_of(staff, path)
    staff.post(path, {"review": "approved", "review_reason": ""})
    mine.refresh_from_db()
    assert mine.published_id == version.pk
    staff.post(path, {"review": "rejected", "review_reason": "No"})
    mine.refresh_from_db()
    assert mine.published_id is None
