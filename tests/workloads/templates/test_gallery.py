"""From a card of the gallery to an instance in two clicks, and cards that say what they lead to."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common.ids import public_id
from instances.models import Instance
from marketplace.leasing.availability import refresh_offers
from marketplace.models import Host, Offer
from marketplace.states import Verification
from storage.models import Image
from tests.instances.fake_host import FakeHost
from tests.web.html_forms import read_form
from workloads.templates.official import register_official_templates
from workloads.templates.selectors import template_key
from workloads.templates.services import create_template

CONTENT: dict[str, Any] = {
    "image": "berth-base",
    "launch": {"env": {"MODE": "fast"}, "command": ["python", "serve.py"]},
    "inputs": [{"name": "HF_TOKEN", "kind": "secret", "required": True}],
    "data_disk_gb": 10,
}
NONE_FITS = "No verified offer fits right now"


def change_hosts(**columns: Any) -> None:
    Host.objects.update(**columns)
    refresh_offers(offer_ids=list(Offer.objects.values_list("pk", flat=True)))


@pytest.fixture
def page(client: Client, rin: User, host: FakeHost) -> Client:
    change_hosts(launch_settings=True, verification=Verification.VERIFIED)
    client.force_login(rin)
    return client


def text_of(page: Client, path: str) -> str:
    response = page.get(path)
    assert response.status_code == 200, path
    return response.content.decode()


def rent_link(gallery: str, title: str) -> str | None:
    found = re.search(rf'href="([^"]+)" aria-label="Rent: {re.escape(title)}"', gallery)
    return unescape(found[1]) if found else None


@pytest.mark.parametrize(("title", "typed"), [("SSH + JupyterLab", {}), ("Server", {"input-HF_TOKEN": "s3cret"})])
def test_two_clicks_from_a_card_to_an_instance(
    page: Client, host: FakeHost, rin: User, title: str, typed: dict[str, str]
) -> None:
    register_official_templates()
    create_template(owner=rin, title="Server", content=CONTENT)
    gallery = text_of(page, "/templates")
    assert "from $3.60/hr" in gallery
    first_click = rent_link(gallery, title)
    assert first_click is not None
    form = read_form(text_of(page, first_click), "rent-form")
    # What the browser does by itself when the page has come.
    [price] = [part for part in form.parts if part.endswith("/quote")]
    bill = page.post(price, form.fields, headers={"HX-Request": "true"}).content.decode()
    assert "$3.60" in bill and 'id="confirm"' in bill
    second_click = {**form.fields, **read_form(bill).fields, **typed}
    done = page.post(form.action, second_click)
    assert done.status_code == 302, done.content.decode()[:3000]
    instance = Instance.objects.get()
    assert done["Location"] == f"/instances/{public_id('inst', instance.pk)}"
    assert instance.quote.template is not None and instance.quote.template["title"] == title
    assert instance.rate_micros_per_hour == 3_600_000


def test_a_card_leads_to_the_cheapest_verified_offer(page: Client, host: FakeHost, hana: User) -> None:
    register_official_templates()
    cheap = FakeHost(hana, price="1.00")
    assert public_id("offr", host.offer.pk) in (rent_link(text_of(page, "/templates"), "SSH + JupyterLab") or "")
    change_hosts(verification=Verification.VERIFIED)
    gallery = text_of(page, "/templates")
    assert public_id("offr", cheap.offer.pk) in (rent_link(gallery, "SSH + JupyterLab") or "")
    assert "from $1.00/hr" in gallery


@pytest.mark.parametrize(
    ("content", "host_has"),
    [
        ({}, {"verification": Verification.UNVERIFIED}),
        ({"launch": {"env": {"A": "1"}}}, {"launch_settings": False}),
        ({"min_driver": "9999.0"}, {}),
        ({"min_vram_gb": 1000}, {}),
        ({"ports": [{"port": 51820, "protocol": "udp"}]}, {"publishes_udp": False}),
    ],
)
def test_a_card_that_nothing_fits_says_so(
    page: Client, host: FakeHost, rin: User, content: dict[str, Any], host_has: dict[str, Any]
) -> None:
    template = create_template(owner=rin, title="Server", content={"image": "berth-base", **content})
    change_hosts(**host_has)
    gallery = text_of(page, "/templates")
    assert NONE_FITS in gallery and rent_link(gallery, "Server") is None
    assert "Rent RTX" not in text_of(page, f"/templates/{template_key(template)}")


def test_a_card_whose_image_is_gone_says_so(page: Client, host: FakeHost, rin: User) -> None:
    create_template(owner=rin, title="Server", content={"image": "berth-base"})
    Image.objects.update(active=False)
    gallery = text_of(page, "/templates")
    assert "no longer available" in gallery and rent_link(gallery, "Server") is None


def test_a_page_names_the_offer_before_the_click(page: Client, host: FakeHost, rin: User) -> None:
    template = create_template(owner=rin, title="Server", content={"image": "berth-base"})
    shown = text_of(page, f"/templates/{template_key(template)}")
    assert "Rent RTX 4090 from $3.60/hr" in shown


def test_cards_cost_no_queries_of_their_own(page: Client, host: FakeHost, rin: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert rent_link(text_of(page, "/templates"), "Server 0")
        return len(captured)

    own = Image.objects.create(slug="mine", title="Mine", reference="x@sha256:1", owner=rin, source="named", official=False)
    create_template(owner=rin, title="Server 0", content={**CONTENT, "image": own.slug})
    queries()
    few = queries()
    for number in range(1, 12):
        create_template(owner=rin, title=f"Server {number}", content={**CONTENT, "image": own.slug})
    assert queries() == few
