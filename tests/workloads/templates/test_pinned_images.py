"""One version runs one image: an order by a version whose image is another one by now is refused, and says so."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from common.ids import public_id
from instances.errors import TemplateImageChanged
from instances.models import Instance, Quote
from instances.orders.quotes import renew_quote
from marketplace.leasing.availability import refresh_offers
from marketplace.models import Host, Offer
from storage.images.register import register_image
from storage.models import Image
from tests.instances.fake_host import FakeHost, refused
from tests.instances.fixtures import Sign
from tests.storage.stub_registry import StubRegistry
from workloads.models import LaunchTemplate
from workloads.templates.official import register_official_templates
from workloads.templates.selectors import template_key

CHANGED = "The image has changed since this version was saved."
NEW = "berth/base@sha256:" + "2" * 64


@pytest.fixture
def api(rin: User, sign: Sign, host: FakeHost) -> Client:
    Host.objects.update(launch_settings=True, verification="verified")
    refresh_offers(offer_ids=list(Offer.objects.values_list("pk", flat=True)))
    return sign(rin)


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


@pytest.fixture
def registry(settings: Any) -> Iterator[StubRegistry]:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with StubRegistry() as running:
        yield running


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


def made(api: Client, image: str = "berth-base") -> str:
    answer = post(api, "launch-templates", {"title": "Server", "image": image})
    assert answer.status_code == 201, answer.json()
    return str(answer.json()["id"])


def quoted(api: Client, host: FakeHost, **wishes: Any) -> Any:
    return post(api, "quotes", {"offer": public_id("offr", host.offer.pk), **wishes})


def rebuild() -> None:
    register_image(slug="berth-base", reference=NEW, title="Base")


def test_a_version_runs_no_other_image(api: Client, host: FakeHost) -> None:
    key = made(api)
    assert quoted(api, host, launch_template=key).status_code == 201
    rebuild()
    answer = quoted(api, host, launch_template=key)
    assert (answer.status_code, answer.json()["code"]) == (409, "template_image_changed")
    assert [row["field"] for row in answer.json()["errors"]] == ["image"]
    assert Quote.objects.count() == 1
    again = post(api, f"launch-templates/{key}/versions", {"image": "berth-base"})
    assert (again.status_code, again.json()["number"]) == (201, 2)
    quote = quoted(api, host, launch_template=key)
    assert quote.status_code == 201
    assert post(api, "instances", {"quote_id": quote.json()["id"]}).status_code == 201
    assert Instance.objects.get().image.reference == NEW


def test_the_renter_may_choose_another_image(api: Client, host: FakeHost) -> None:
    key = made(api)
    rebuild()
    Image.objects.create(slug="other", title="Other", reference="other@sha256:1")
    assert quoted(api, host, launch_template=key, image="other").status_code == 201


def test_a_quote_is_not_renewed_with_another_image(api: Client, host: FakeHost, rin: User) -> None:
    quoted(api, host, launch_template=made(api))
    rebuild()
    with pytest.raises(TemplateImageChanged), refused():
        renew_quote(renter=rin, quote_id=Quote.objects.get().pk)


def test_a_quote_of_an_earlier_market_is_renewed(api: Client, host: FakeHost, rin: User) -> None:
    quoted(api, host, launch_template=made(api))
    before = Quote.objects.get()
    assert before.template is not None
    agreed = {name: value for name, value in before.template.items() if name not in ("image", "reference")}
    Quote.objects.update(template=agreed)
    rebuild()
    assert renew_quote(renter=rin, quote_id=before.pk).template_version == before.template_version


def test_pages_say_so(api: Client, page: Client, host: FakeHost) -> None:
    key, offer = made(api), public_id("offr", host.offer.pk)
    assert 'aria-label="Rent: Server"' in page.get("/templates").content.decode()
    rebuild()
    gallery = page.get("/templates").content.decode()
    assert CHANGED in gallery and 'aria-label="Rent: Server"' not in gallery
    shown = page.get(f"/templates/{key}").content.decode()
    assert CHANGED in shown and "Edit the template and save it" in shown and f"/offers/{offer}/rent" not in shown
    choices = {"template": key, "gpu_count": "1", "image": "berth-base", "data_disk_gb": "10", "hours": "1"}
    bill = page.post(f"/offers/{offer}/rent/quote", choices, headers={"HX-Request": "true"}).content.decode()
    assert "image has changed since this version was saved" in bill and 'id="confirm"' not in bill


def test_official_templates_follow_their_images(api: Client, host: FakeHost) -> None:
    register_official_templates()
    rebuild()
    answer = quoted(api, host, launch_template="ssh-jupyter")
    assert (answer.status_code, "within five minutes" in answer.json()["detail"]) == (409, True)
    assert register_official_templates() == 1
    assert quoted(api, host, launch_template="ssh-jupyter").status_code == 201


def test_a_tag_that_has_moved_asks_for_a_new_version(api: Client, host: FakeHost, registry: StubRegistry) -> None:
    registry.add("team/serve", "v1", layers=[{"a": b"1"}])
    image = post(api, "images", {"name": f"{registry.host}/team/serve:v1"}).json()
    key = made(api, image["slug"])
    assert quoted(api, host, launch_template=key).status_code == 201
    registry.add("team/serve", "v1", layers=[{"a": b"2"}])
    Image.objects.update(checked_at=clock.now() - timedelta(days=1))
    answer = quoted(api, host, launch_template=key)
    assert (answer.status_code, answer.json()["code"]) == (409, "template_image_changed")
    assert post(api, f"launch-templates/{key}/versions", {"image": image["slug"]}).json()["number"] == 2
    assert quoted(api, host, launch_template=key).status_code == 201
    assert template_key(LaunchTemplate.objects.get()) == key
