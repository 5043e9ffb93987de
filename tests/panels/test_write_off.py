"""Staff write a host off in their panel: confirmed who they are, the host named, the reason typed."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from common import clock
from marketplace.models import Host, HostWriteOff
from tests.api.world import World, build_world
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db
ADD = "/admin/marketplace/hostwriteoff/add/"


@pytest.fixture
def world(alice: User, hana: User) -> World:
    return build_world(alice, hana)


@pytest.fixture
def dead(world: World) -> Host:
    host: Host = world.host.host
    Host.objects.filter(pk=host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=1))
    return host


def signed_in(user: User, *, confirmed: bool = True) -> Client:
    client = Client()
    client.force_login(user)
    if confirmed:
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def form(host: Host, **changes: str) -> dict[str, str]:
    return {"host": str(host.pk), "host_name": host.name, "why": "The machine was sold.", **changes}


def test_it_asks_who_does_it_first(stella: User, dead: Host) -> None:
    client = signed_in(stella, confirmed=False)
    for reply in (client.get(ADD), client.post(ADD, form(dead))):
        assert (reply.status_code, reply["Location"]) == (302, f"/accounts/reauthenticate/?next={ADD.replace('/', '%2F')}")
    assert not HostWriteOff.objects.exists()


def test_the_name_and_the_reason_are_typed(stella: User, dead: Host) -> None:
    client = signed_in(stella)
    assert client.get(ADD).status_code == 200
    for wrong in ({"host_name": "other"}, {"why": ""}, {"why": "dead"}):
        assert client.post(ADD, form(dead, **wrong)).status_code == 200
    assert not HostWriteOff.objects.exists()
    assert client.post(ADD, form(dead)).status_code == 302
    written = HostWriteOff.objects.get()
    assert (written.decided_by, written.reason) == (stella, "The machine was sold.")
    assert Host.objects.get(pk=dead.pk).state == "retired"
    page = client.get(reverse("admin:marketplace_hostwriteoff_changelist")).content.decode()
    assert "The machine was sold." in page


def test_one_that_reports_is_refused_with_what_to_do(stella: User, world: World) -> None:
    client = signed_in(stella)
    reply = client.post(ADD, form(world.host.host), follow=True)
    assert "drain and retire it" in reply.content.decode()
    assert not HostWriteOff.objects.exists()


def test_others_do_not_reach_it(hana: User, alice: User, dead: Host) -> None:
    for user in (hana, alice):
        assert signed_in(user).post(ADD, form(dead)).status_code in (302, 403)
    assert not HostWriteOff.objects.exists()
