"""Self-tests through the API and the owner's page: own hosts alone, asked for once, read with their checks."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.tokens.services import issue_token
from common.ids import new_uuid, public_id
from marketplace.hosts.hosts import freeze_host
from marketplace.models import Host, SelfTest
from marketplace.states import Verdict, Verification
from tests.marketplace.answers import but, good_rows, put_to_test
from tests.marketplace.shapes import enrolled

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(hana: User) -> Host:
    return enrolled(hana)


def api(user: User, *scopes: str) -> Client:
    _, secret = issue_token(user=user, name="t", scopes=list(scopes or ("hosts:read", "hosts:write")))
    return Client(headers={"Authorization": f"Bearer {secret}"})


def address(host: Host) -> str:
    return f"/api/v1/hosts/{public_id('host', host.pk)}/self-test"


def ask(client: Client, host: Host, query: str = "", **rest: Any) -> Any:
    return client.post(address(host) + query, content_type="application/json", **rest)


def test_asked_for_and_read(hana: User, host: Host) -> None:
    client = api(hana)
    assert client.get(address(host)).json() == {"results": []}
    requested = ask(client, host)
    assert requested.status_code == 202
    assert requested.json()["verdict"] == "pending"
    assert requested.json()["asked_by"] == "owner"
    put_to_test(host, but(good_rows(host), "disk_read", value=12.0, actual="12 MB/s"))
    (test,) = client.get(address(host)).json()["results"]
    assert (test["id"], test["verdict"], test["simulated"]) == (requested.json()["id"], "failed", False)
    (disk,) = [check for check in test["checks"] if check["id"] == "disk_read"]
    assert disk["passed"] is False
    assert (disk["actual"], disk["required"]) == ("12 MB/s", "at least 100 MB/s")
    assert "SSD" in disk["remedy"]


def test_the_same_key_asks_once(hana: User, host: Host) -> None:
    client = api(hana)
    first, again = (ask(client, host, headers={"Idempotency-Key": "k1"}) for _ in range(2))
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert SelfTest.objects.count() == 1


def test_a_rehearsal_asks_nothing(hana: User, host: Host) -> None:
    assert ask(api(hana), host, "?dry_run=true").status_code == 200
    assert not SelfTest.objects.exists()


def test_only_the_owner(hana: User, mallory: User, host: Host) -> None:
    other_user = api(mallory)
    for reply in (other_user.get(address(host)), ask(other_user, host)):
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    nothing = f"/api/v1/hosts/{public_id('host', new_uuid())}/self-test"
    assert api(hana).get(nothing).status_code == 404
    assert ask(api(hana, "hosts:read"), host).status_code == 403
    assert Client().get(address(host)).status_code == 401
    assert not SelfTest.objects.exists()


def test_a_host_that_does_not_report(hana: User, host: Host) -> None:
    freeze_host(host_id=host.pk, reason="x", actor="staff")
    reply = ask(api(hana), host)
    assert (reply.status_code, reply.json()["code"]) == (409, "host_not_online")


def test_the_hosts_own_page_has_measurements_and_verification(hana: User, host: Host) -> None:
    put_to_test(host)
    Host.objects.filter(pk=host.pk).update(disk_read_mbps=3000, disk_samples=2, net_up_mbps=90, nvlink=True)
    body = api(hana).get(f"/api/v1/hosts/{public_id('host', host.pk)}").json()
    assert (body["verified"], body["verification"]) == (True, "verified")
    assert (body["disk"]["read_mbps"], body["disk"]["samples"], body["disk"]["write_mbps"]) == (3000, 2, None)
    assert (body["network"]["up_mbps"], body["network"]["measured_at"], body["nvlink"]) == (90, None, True)


# -- the owner's page


def page(client: Client) -> str:
    return client.get(reverse("my_hosts")).content.decode()


def test_the_button(client: Client, hana: User, host: Host) -> None:
    client.force_login(hana)
    assert "not run yet" in page(client)
    reply = client.post(reverse("host_self_test", args=[public_id("host", host.pk)]), follow=True)
    assert "Self-test running" in reply.content.decode()
    assert SelfTest.objects.get().verdict == Verdict.PENDING


def test_the_button_on_a_host_that_is_gone(client: Client, hana: User, host: Host) -> None:
    client.force_login(hana)
    freeze_host(host_id=host.pk, reason="x", actor="staff")
    reply = client.post(reverse("host_self_test", args=[public_id("host", host.pk)]), follow=True)
    assert "reporting. Start it first." in reply.content.decode()


def test_the_button_is_the_owners(client: Client, mallory: User, host: Host) -> None:
    address = reverse("host_self_test", args=[public_id("host", host.pk)])
    assert client.post(address).status_code == 302
    client.force_login(mallory)
    assert client.post(address).status_code == 404
    assert client.get(address).status_code == 405
    assert not SelfTest.objects.exists()


def test_what_is_to_be_mended_stands_first(client: Client, hana: User, host: Host) -> None:
    put_to_test(host, but(good_rows(host), "disk_write", value=1.0, actual="1 MB/s <b>"))
    client.force_login(hana)
    text = page(client)
    assert "Move the agent&#x27;s folder to an SSD" in text
    assert "1 MB/s &lt;b&gt;" in text
    assert "required: at least 100 MB/s" in text
    assert text.index("Move the agent") < text.index("17 checks")


def test_the_page_says_what_became_of_verification(client: Client, hana: User, host: Host) -> None:
    client.force_login(hana)
    put_to_test(host, good_rows(host, simulated=True))
    assert "simulated data" in page(client)
    put_to_test(host, but(good_rows(host), "kernel", passed=False))
    assert "verification expired" in page(client)
    Host.objects.update(verification=Verification.REFUSED)
    assert "verification refused by Berth" in page(client)


def test_the_page_costs_the_same_for_many_hosts(
    client: Client, hana: User, host: Host, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for number in range(5):
        put_to_test(enrolled(hana, name=f"rig-{number}"))
    client.force_login(hana)
    page(client)
    with django_assert_max_num_queries(12):  # type: ignore[attr-defined]  # a context manager
        page(client)
