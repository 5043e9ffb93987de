"""An image that does not come: the renter reads why, pays nothing, and the GPU is free again."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from agents.protocol.messages import LayerProgress
from billing.audit.selectors import ledger_findings
from billing.ledger.selectors import wallet_of
from billing.models import Entry
from common import clock
from common.encryption import encrypt
from common.ids import public_id
from instances.core.observations import ObservedRow
from instances.core.wakeup_payloads import early_order
from instances.errors import ImageNeedsCuda
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.transfers.selectors import desired_on_host
from marketplace.models import Offer
from storage.errors import ImagePrivate, ImageTooLarge
from storage.images.pull_progress import PullRow, delete_old_pulls, record_pulls
from storage.models import Image, Registry
from tests.instances.fake_host import FakeHost, order, reload
from tests.instances.fixtures import Clock

pytestmark = pytest.mark.django_db
CODES = {
    "image_missing": "The image wasn't found.",
    "image_private": "The registry denied access to this image.",
    "image_wrong_architecture": "The image is built for another processor architecture.",
    "image_too_large": "enough disk space for the image",
    "image_needs_cuda": "newer CUDA",
    "image_pull_timeout": "Pulling the image took too long.",
    "registry_silent": "couldn't reach",
    "program_ended": "program exited immediately",
}


@pytest.fixture
def private(rin: User) -> Image:
    login = Registry.objects.create(
        owner=rin, host="r.example", username="ann", sealed_password=encrypt("hush-hush"), checked_at=timezone.now()
    )
    return Image.objects.create(
        slug="own-1", title="Own", reference="r.example/x@sha256:1", owner=rin, source="named", official=False,
        has_ssh=False, size_bytes=1_000_000, private=True, registry=login, named_as="r.example/x:1", checked_at=clock.now(),
    )  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_fault_037_nothing_is_paid_and_the_gpu_is_free(host: FakeHost, rin: User, code: str) -> None:
    entries = Entry.objects.count()
    instance = order(rin, host)
    host.sync()
    host.break_next(instance, code, "The registry says: no <b>way</b>.")
    host.settle()
    host.settle()
    failed = reload(instance)
    assert (failed.state, failed.failure_code) == ("failed", code)
    assert Offer.objects.get(pk=host.offer.pk).gpu_free == 4
    wallet = wallet_of(owner_id=rin.pk, now=clock.now())
    assert (wallet.held_micros, wallet.accrued_micros, Entry.objects.count()) == (0, 0, entries)
    assert list(ledger_findings()) == []
    browser = Client()
    browser.force_login(rin)
    page = browser.get(f"/instances/{public_id('inst', instance.pk)}").content.decode()
    assert CODES[code] in page.replace("&#x27;", "'")
    assert "no &lt;b&gt;way" in page


def test_before_anything_is_paid(host: FakeHost, rin: User, private: Image) -> None:
    def quote() -> None:
        create_quote(renter=rin, offer_id=host.offer.pk, image="own-1", data_disk_gb=10)

    quote()
    for change, error in (
        ({"cuda": "99.0"}, ImageNeedsCuda),
        ({"cuda": "", "size_bytes": 10**12}, ImageTooLarge),
        ({"size_bytes": 0, "registry_id": None}, ImagePrivate),
    ):
        Image.objects.filter(pk=private.pk).update(**change)
        with pytest.raises(error):
            quote()


def test_the_login_is_told_to_the_host_alone_and_only_until_it_runs(host: FakeHost, rin: User, private: Image) -> None:
    quote = create_quote(renter=rin, offer_id=host.offer.pk, image="own-1")
    instance = rent_instance(renter=rin, quote_id=quote.pk)
    assert early_order(reload(instance)) == ""
    (row,) = desired_on_host(host.host.pk)
    assert row.registry_auth == {"username": "ann", "password": "hush-hush"}
    assert (row.has_ssh, row.image_bytes) == (False, 1_000_000)
    assert "hush" not in repr(row)
    host.settle()
    assert Instance.objects.get().state == "running"
    (row,) = desired_on_host(host.host.pk)
    assert row.registry_auth == {}
    with_base = order(rin, host)
    assert early_order(reload(with_base)) != ""


def test_progress_by_layer_is_kept_while_it_loads(host: FakeHost, rin: User, hours: Clock) -> None:
    instance = order(rin, host)
    layers = [LayerProgress("a" * 12, 5, 10, "downloading"), LayerProgress("<script>", 1, 1, "strange")]
    record_pulls(host_id=host.host.pk, rows=[PullRow(instance.pk, layers)], at=clock.now())
    record_pulls(
        host_id=host.host.pk, rows=[PullRow(instance.pk, [*layers, LayerProgress("b", 7, 7, "ready")])], at=clock.now()
    )
    browser = Client()
    browser.force_login(rin)
    pull = browser.get(f"/api/v1/instances/{public_id('inst', instance.pk)}/pull").json()
    assert (pull["done_bytes"], pull["total_bytes"]) == (13, 18)
    assert [layer["step"] for layer in pull["layers"]] == ["downloading", "", "ready"]
    page = browser.get(f"/instances/{public_id('inst', instance.pk)}").content.decode()
    assert "<script>" not in page.partition('id="instance"')[2]
    assert "downloading" in page
    hours.advance(minutes=6)
    assert delete_old_pulls(now=clock.now()) == 1
    assert browser.get(f"/api/v1/instances/{public_id('inst', instance.pk)}/pull").json()["layers"] == []


def test_a_row_without_layers_is_none_of_it() -> None:
    row = ObservedRow(id=Image().pk, generation=1, phase="running")
    assert row.layers == ()
