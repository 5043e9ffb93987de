"""The two admin panels, walked by staff, a host owner, another host owner, a renter and nobody."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.web.admin_sites import host_panel, staff_panel
from billing.audit.selectors import ledger_findings
from billing.ledger.wallets import open_wallet
from billing.models import Posting, Wallet
from common import clock
from common.ids import public_id
from common.messages.message import English
from marketplace.hosts.incidents import open_incident
from marketplace.models import Host, JoinToken, Maintenance, Offer
from tests.api.world import World, build_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice: User, hana: User) -> World:
    return build_world(alice, hana)


def _as(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def _lists(site: str, panel: object) -> list[str]:
    registry = panel._registry  # type: ignore[attr-defined]  # the admin has no public list of its models
    return [reverse(f"{site}:{model._meta.app_label}_{model._meta.model_name}_changelist") for model in registry]


def test_staff_see_every_list_and_every_row(stella: User, world: World) -> None:
    client = _as(stella)
    assert client.get(reverse("admin:index")).status_code == 200
    for address in _lists("admin", staff_panel):
        assert client.get(address).status_code == 200, address
    for model in staff_panel._registry:
        row = model._default_manager.first()
        if row is not None:
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
            assert client.get(reverse(name, args=[row.pk])).status_code == 200, name


def test_staff_find_rows_by_the_ids_that_incidents_and_renters_name(stella: User, world: World) -> None:
    instance, host, renter = world.instance, world.host.host, world.renter
    inst = public_id("inst", instance.pk)
    open_incident(kind="strange_report", subject=inst, detail=English(sentence="something"))
    client = _as(stella)
    for rows, words in {
        "instances_instance": (inst, instance.pk.hex, str(instance.pk), host.name, public_id("host", host.pk)),
        "marketplace_host": (public_id("host", host.pk),),
        "marketplace_lease": (inst,),
        "marketplace_incident": (inst,),
        "accounts_user": (public_id("user", renter.pk),),
    }.items():
        for word in words:
            reply = client.get(reverse(f"admin:{rows}_changelist"), {"q": word})
            assert reply.context["cl"].result_count == 1, (rows, word)


def test_an_incident_links_to_the_row_that_it_is_about(stella: User, world: World) -> None:
    known = {
        public_id("inst", world.instance.pk): reverse("admin:instances_instance_change", args=[world.instance.pk]),
        public_id("host", world.host.host.pk): reverse("admin:marketplace_host_change", args=[world.host.host.pk]),
    }
    for subject in (*known, "jobs", "host_nonsense", "<b>x</b>"):
        open_incident(kind="strange_report", subject=subject, detail=English(sentence="something"))
    client = _as(stella)
    page = client.get(reverse("admin:marketplace_incident_changelist")).content.decode()
    for subject, url in known.items():
        assert f'<a href="{url}">{subject}</a>' in page
        assert client.get(url).status_code == 200
    assert "<b>x</b>" not in page


def test_a_host_owner_sees_the_own_host_with_its_gpus(hana: User, world: World) -> None:
    client = _as(hana)
    for address in (reverse("host_panel:index"), *_lists("host_panel", host_panel)):
        assert client.get(address).status_code == 200, address
    page = client.get(reverse("host_panel:marketplace_host_change", args=[world.host.host.pk])).content.decode()
    assert world.host.host.gpus.get(index=0).uuid in page


def test_a_host_owner_never_sees_the_renter(hana: User, world: World) -> None:
    client = _as(hana)
    for address in (
        reverse("host_panel:instances_instance_changelist"),
        reverse("host_panel:instances_instance_change", args=[world.instance.pk]),
    ):
        page = client.get(address).content.decode()
        assert world.renter.email not in page
        assert world.instance.name not in page
        assert world.instance.jupyter_token not in page


def test_another_host_owner_sees_nothing_of_it(bob: User, world: World) -> None:
    bob.is_host_owner = True
    bob.save()
    client = _as(bob)
    for model, row in (("host", world.host.host), ("offer", world.host.offer)):
        assert str(row.pk) not in client.get(reverse(f"host_panel:marketplace_{model}_changelist")).content.decode()
        assert client.get(reverse(f"host_panel:marketplace_{model}_change", args=[row.pk])).status_code == 302
    assert client.post(
        reverse("host_panel:marketplace_offer_change", args=[world.host.offer.pk]), {"price": "0.01", "listed": "on"}
    ).status_code in (302, 403, 404)
    assert Offer.objects.get(pk=world.host.offer.pk).price_micros == world.host.offer.price_micros


@pytest.mark.parametrize("panel", ["admin:index", "host_panel:index", "admin:billing_wallet_changelist"])
def test_renters_and_strangers_are_sent_away(panel: str, mallory: User) -> None:
    anonymous = Client().get(reverse(panel), follow=True)
    assert anonymous.redirect_chain[-1][0].startswith(reverse("account_login"))
    assert _as(mallory).get(reverse(panel), follow=True).status_code == 403


def test_host_owners_are_no_staff(hana: User) -> None:
    assert _as(hana).get(reverse("admin:index"), follow=True).status_code == 403


def test_a_new_price_is_for_new_rents_only(hana: User, world: World) -> None:
    offer = world.host.offer
    response = _as(hana).post(
        reverse("host_panel:marketplace_offer_change", args=[offer.pk]), {"price": "9.99", "listed": "on"}
    )
    assert response.status_code == 302
    changed = Offer.objects.get(pk=offer.pk)
    assert (changed.price_micros, changed.listed, changed.version > offer.version) == (9_990_000, True, True)
    world.instance.refresh_from_db()
    assert world.instance.rate_micros_per_hour != 9_990_000


def test_draining_closes_the_host_to_new_rents(hana: User, world: World) -> None:
    host = world.host.host
    _as(hana).post(
        reverse("host_panel:marketplace_host_changelist"), {"action": "drain", "_selected_action": [str(host.pk)]}
    )
    assert Host.objects.get(pk=host.pk).draining
    assert Offer.objects.get(pk=world.host.offer.pk).gpu_free == 0


def test_a_join_token_is_shown_once_inside_its_command(hana: User) -> None:
    client = _as(hana)
    body = {"host_name": "rack-1", "region": "eu-west", "price": "1.50"}
    page = client.post(reverse("host_panel:marketplace_jointoken_add"), body, follow=True).content.decode()
    assert "berth-agent enrol --url" in page
    token = JoinToken.objects.get(owner=hana)
    assert (token.host_name, token.price_micros) == ("rack-1", 1_500_000)
    assert "berth-agent enrol" not in client.get(reverse("host_panel:marketplace_jointoken_changelist")).content.decode()


def test_a_refused_form_says_why_and_writes_nothing(hana: User) -> None:
    body = {"host_name": "", "region": "eu-west", "price": "1.50"}
    assert _as(hana).post(reverse("host_panel:marketplace_jointoken_add"), body).status_code == 200
    assert not JoinToken.objects.exists()


def test_staff_grant_credit_once_however_often_the_form_is_sent(stella: User, alice: User) -> None:
    wallet = open_wallet(owner_id=alice.pk)
    body = {"amount": "25.5", "memo": "welcome", "key": "0123"}
    client = _as(stella)
    for _ in range(2):
        assert client.post(reverse("admin:billing_wallet_change", args=[wallet.pk]), body).status_code == 302
    wallet.refresh_from_db()
    assert wallet.balance_micros == 25_500_000
    assert Posting.objects.get(kind="grant").actor == f"staff:{stella.pk.hex}"
    assert ledger_findings() == []


def test_credit_needs_a_reason(stella: User, alice: User) -> None:
    wallet = open_wallet(owner_id=alice.pk)
    page = _as(stella).post(
        reverse("admin:billing_wallet_change", args=[wallet.pk]), {"amount": "5", "memo": "", "key": "k"}
    )
    assert page.status_code == 200
    assert Wallet.objects.get(pk=wallet.pk).balance_micros == 0


def test_maintenance_is_announced_and_called_off_in_the_panel(hana: User, world: World) -> None:
    Maintenance.objects.all().delete()
    client, host = _as(hana), world.host.host
    begin = clock.now() + timedelta(days=3)
    body = {
        "host": str(host.pk),
        "category": "power",
        "detail": "UPS",
        "starts_at_0": f"{begin:%Y-%m-%d}",
        "starts_at_1": f"{begin:%H:%M:%S}",
        "ends_at_0": f"{begin + timedelta(hours=1):%Y-%m-%d}",
        "ends_at_1": f"{begin + timedelta(hours=1):%H:%M:%S}",
    }
    add = reverse("host_panel:marketplace_maintenance_add")
    assert client.get(add).status_code == 200
    assert client.post(add, {**body, "starts_at_0": f"{clock.now():%Y-%m-%d}"}).status_code == 302
    assert not Maintenance.objects.exists()
    assert client.post(add, body).status_code == 302
    made = Maintenance.objects.get()
    assert (made.host, made.category, made.starts_at) == (host, "power", begin.replace(microsecond=0))
    listed = reverse("host_panel:marketplace_maintenance_changelist")
    client.post(listed, {"action": "cancel", "_selected_action": [str(made.pk)]})
    assert Maintenance.objects.get().cancelled_at is not None


def test_nobody_announces_maintenance_of_another_owners_host(bob: User, world: World) -> None:
    User.objects.filter(pk=bob.pk).update(is_host_owner=True)
    page = _as(bob).get(reverse("host_panel:marketplace_maintenance_add"))
    assert str(world.host.host.pk) not in page.content.decode()
