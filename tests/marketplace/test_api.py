"""The market's API in the shapes that scripts rely on, and the host owner's, closed to everyone else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from common.ids import public_id
from marketplace.hosts.hosts import enrol_host
from marketplace.models import Host, JoinToken, Offer
from tests.marketplace.shapes import leased, offer_of, shape

Bearer = Callable[..., Client]
SCOPES = ("hosts:read", "hosts:write")


@pytest.fixture(autouse=True)
def no_old_counts() -> None:
    cache.clear()


@pytest.fixture
def bearer() -> Bearer:
    def make(user: User, *scopes: str) -> Client:
        _, text = issue_token(user=user, name="test", scopes=scopes or SCOPES)
        return Client(headers={"authorization": f"Bearer {text}"})

    return make


def _get(client: Client, path: str, **params: Any) -> Any:
    reply = client.get(f"/api/v1/{path}", params)
    assert reply.status_code == 200, reply.content
    return reply.json()


def _send(client: Client, method: str, path: str, body: Any, **headers: str) -> Any:
    return getattr(client, method)(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def test_an_owner_sees_hosts_gpus_and_offers(bearer: Bearer, hana: User, host: Host, offer: Offer) -> None:
    held = leased(offer).gpu_uuids[0]
    client = bearer(hana, "hosts:read")
    [shown] = _get(client, "hosts")["results"]
    detail = _get(client, f"hosts/{shown['id']}")
    assert [event["kind"] for event in detail.pop("events")] == ["enrolled"]
    assert detail == shown
    assert (shown["state"], shown["draining"], shown["reliability"]) == ("online", False, None)
    assert {card["uuid"]: card["leased"] for card in shown["gpus"]}[held] is True
    [own] = shown["offers"]
    assert (own["id"], own["price_hourly"], own["gpu_free"]) == (public_id("offr", offer.pk), "2.00", 1)


def test_a_listing_is_changed(bearer: Bearer, hana: User, host: Host, offer: Offer) -> None:
    client, key = bearer(hana), public_id("host", host.pk)
    body = {"offers": [{"id": public_id("offr", offer.pk), "price_hourly": "3.5", "listed": False}]}
    reply = _send(client, "patch", f"hosts/{key}/listing", body)
    assert reply.status_code == 200, reply.content
    [own] = reply.json()["offers"]
    assert (own["price_hourly"], own["listed"], own["gpu_free"], own["version"]) == ("3.50", False, 0, offer.version + 1)
    negative = [{"id": own["id"], "price_hourly": "-1"}]
    wrongs: list[Any] = [{}, {"offers": []}, {"offers": negative}, {"offers": [{"listed": True}]}, {"offers": 7}, []]
    for wrong in wrongs:
        assert _send(client, "patch", f"hosts/{key}/listing", wrong).status_code == 400
    unknown = {"offers": [{"id": "offr_" + "0" * 32, "listed": True}]}
    assert _send(client, "patch", f"hosts/{key}/listing", unknown).status_code == 404


def test_maintenance(bearer: Bearer, hana: User, host: Host) -> None:
    client, path = bearer(hana), f"hosts/{public_id('host', host.pk)}/maintenance"
    rehearsal = _send(client, "post", f"{path}?dry_run=true", {"draining": True})
    assert (rehearsal.status_code, rehearsal.json()["draining"], offer_of(host).gpu_free) == (200, True, 2)
    assert _send(client, "post", path, {"draining": True}).json()["draining"] is True
    assert offer_of(host).gpu_free == 0
    assert _send(client, "post", path, {"draining": False}).json()["draining"] is False
    assert offer_of(host).gpu_free == 2
    assert _send(client, "post", path, {}).status_code == 400


def test_a_join_token_is_shown_once_and_enrols(bearer: Bearer, hana: User) -> None:
    client, wanted = bearer(hana), {"host_name": "lab-1", "region": "eu", "price_hourly": "1.25"}
    first = _send(client, "post", "join-tokens", wanted, **{"Idempotency-Key": "k1"})
    again = _send(client, "post", "join-tokens", wanted, **{"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code) == (201, 201)
    token = first.json()["token"]
    assert f"--token {token}" in first.json()["command"]
    assert again.json() == {**first.json(), "token": None, "command": None}
    assert JoinToken.objects.count() == 1
    host = enrol_host(token=token, shape=shape(1), agent_version="1")
    assert (host.name, host.owner_id, offer_of(host).price_micros) == ("lab-1", hana.pk, 1_250_000)
    rehearsal = _send(client, "post", "join-tokens?dry_run=true", wanted)
    assert (rehearsal.status_code, rehearsal.json()["token"]) == (200, None)
    assert JoinToken.objects.count() == 1
    other = _send(client, "post", "join-tokens", {**wanted, "region": "us"}, **{"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")


@pytest.mark.parametrize("price", ["-1", "abc", "1.2345678", None, "10000000000"])
def test_join_tokens_need_a_price(bearer: Bearer, hana: User, price: Any) -> None:
    body = {"host_name": "lab", "region": "eu", "price_hourly": price}
    reply = _send(bearer(hana), "post", "join-tokens", body)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "price_hourly")


@pytest.fixture
def other_users(alice: User, mallory: User) -> list[User]:
    """A renter, and a host owner without a host."""
    mallory.is_host_owner = True
    mallory.save()
    return [alice, mallory]


@pytest.mark.parametrize("ask", ["get hosts/{}", "patch hosts/{}/listing", "post hosts/{}/maintenance"])
def test_strangers_get_nothing(bearer: Bearer, other_users: list[User], hana: User, offer: Offer, ask: str) -> None:
    method, path = ask.format(public_id("host", offer.host_id)).split()
    listing = [{"id": public_id("offr", offer.pk), "listed": False}]
    body = None if method == "get" else {"offers": listing, "draining": True}
    assert _send(Client(), method, path, body).status_code == 401
    for other_user in other_users:
        reply = _send(bearer(other_user), method, path, body)
        assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    other_scope = "hosts:write" if method == "get" else "hosts:read"
    assert _send(bearer(hana, other_scope), method, path, body).status_code == 403
    offer.refresh_from_db()
    assert (offer.listed, offer.gpu_free) == (True, 2)


def test_lists_show_own_rows_only(bearer: Bearer, other_users: list[User], host: Host) -> None:
    for other_user in other_users:
        assert _get(bearer(other_user), "hosts")["results"] == []
    assert Client().get("/api/v1/hosts").status_code == 401


def test_only_host_owners_make_join_tokens(bearer: Bearer, alice: User) -> None:
    reply = _send(bearer(alice), "post", "join-tokens", {"host_name": "x", "region": "eu", "price_hourly": "1"})
    assert (reply.status_code, reply.json()["code"]) == (403, "not_host_owner")
    assert _send(Client(), "post", "join-tokens", {}).status_code == 401
