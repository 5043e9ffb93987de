"""Fault 99: role × endpoint, generated from the URL conf. A new endpoint without a line here fails."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from rest_framework.permissions import AllowAny

from accounts.constants import ANY_SCOPE, SCOPES
from accounts.models import ApiToken, User
from accounts.tokens.services import issue_token, revoke_token
from accounts.web.permissions import HasScope, PublicToRead
from common import clock
from common.ids import public_id
from tests.api.world import PUBLIC_KEY, Endpoint, World, discover, rows, strange_ids

Body = Callable[[World], dict[str, Any]]
ENDPOINTS = discover()
REFUSED = (401, 403, 404)


def nothing(world: World) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Rule:
    """What opens an endpoint, and what another renter with every scope is told there about the victims' things."""

    scope: str | None
    others: tuple[int, ...]
    body: Body = field(default=nothing)


def public() -> Rule:
    return Rule(None, (200,))


def theirs_alone(scope: str, body: Body = nothing) -> Rule:
    """An endpoint that names a thing: nobody else's exists."""
    return Rule(scope, (404,), body)


def ones_own(scope: str, *statuses: int, body: Body = nothing) -> Rule:
    """An endpoint about the asker's own things: it works for everyone, and shows only those."""
    return Rule(scope, statuses or (200,), body)


def an_order(world: World) -> dict[str, Any]:
    return {"quote_id": world.ids["quote_id"], "name": "x", "ssh_key_ids": [world.ids["key_id"]]}


def a_channel(world: World) -> dict[str, Any]:
    return {"service": "wecom", "name": "x", "url": "0123456789abcdef0123456789abcdef"}


def a_listing(world: World) -> dict[str, Any]:
    return {"offers": [{"id": world.ids["offer_id"], "price_hourly": "0.01", "listed": False}]}


def a_volume(world: World) -> dict[str, Any]:
    return {"name": "mine", "snapshot": world.ids["snapshot_id"]}


def a_connection(world: World) -> dict[str, Any]:
    place = {"endpoint": "https://9.9.9.9", "bucket": "No Bucket", "key_id": "x", "secret": "x"}
    return {"name": "mine", **place}


def a_sync(world: World) -> dict[str, Any]:
    return {"connection": world.ids["connection_id"], "direction": "down", "delete_extra": True}


def a_data_set(world: World) -> dict[str, Any]:
    return {"snapshot": world.ids["snapshot_id"], "slug": "mine", "title": "Mine"}


def a_payout_account(world: World) -> dict[str, Any]:
    return {"method": "bank", "holder": "Mallory", "iban": "DE89370400440532013000"}


def a_login(world: World) -> dict[str, Any]:
    return {"client": "a program", "scopes": ["instances:read"]}


RULES = {
    "GET openapi": public(),
    "GET api_offers": public(),
    "GET api_offer_facets": public(),
    "GET api_offer": public(),
    "GET api_offers_compare": Rule(None, (200, 400)),
    "GET api_search_terms": public(),
    "GET api_saved_searches": ones_own("instances:read"),
    "POST api_saved_searches": ones_own("instances:write", 201, body=lambda world: {"name": "x", "line": "t4"}),
    "GET api_saved_search": theirs_alone("instances:read"),
    "PATCH api_saved_search": theirs_alone("instances:write", lambda world: {"name": "mine now"}),
    "DELETE api_saved_search": theirs_alone("instances:write"),
    "GET api_offer_prices": public(),
    "GET api_offer_spot_prices": public(),
    "POST api_estimates": Rule(None, (200,), lambda world: {"unit_price": "3.06", "hours": 1}),
    "GET api_gpu_models": public(),
    "GET api_gpu_model": public(),
    "POST api_advice": public(),
    "POST api_device_logins": Rule(None, (200,), a_login),
    "POST api_device_token": Rule(None, (400,), lambda world: {"device_code": "of nobody"}),
    "GET api_images": public(),
    "POST api_images": ones_own("instances:write", 400, body=lambda world: {"name": "NO NAME"}),
    "GET api_launch_templates": public(),
    "POST api_launch_templates": ones_own(
        "instances:write", 400, body=lambda world: {"title": "x", "image": "no-such-image"}
    ),
    "POST api_launch_template_import": ones_own("instances:write", 422, body=lambda world: {"line": "docker run -v /:/h x"}),
    "GET api_launch_template": Rule(None, (404,)),
    "PATCH api_launch_template": theirs_alone("instances:write", lambda world: {"title": "mine now"}),
    "DELETE api_launch_template": theirs_alone("instances:write"),
    "GET api_template_versions": theirs_alone("instances:read"),
    "POST api_template_versions": theirs_alone("instances:write", lambda world: {"image": "berth-base"}),
    "POST api_template_render": theirs_alone("instances:write"),
    "GET api_image": theirs_alone("instances:read"),
    "DELETE api_image": theirs_alone("instances:write"),
    "POST api_image_share": theirs_alone("instances:write", lambda world: {"name": "mine-now"}),
    "DELETE api_image_share": theirs_alone("instances:write"),
    "GET api_registries": ones_own("instances:read"),
    "POST api_registries": ones_own(
        "instances:write", 400, body=lambda world: {"host": "no host", "username": "x", "password": "x"}
    ),
    "DELETE api_registry": theirs_alone("instances:write"),
    "POST api_instance_save_image": theirs_alone("instances:write", lambda world: {"name": "mine now"}),
    "GET api_instance_pull": theirs_alone("instances:read"),
    "POST api_quotes": ones_own("instances:write", 201, body=lambda world: {"offer": world.ids["offer_id"]}),
    "GET api_quote": theirs_alone("instances:read"),
    "GET api_instances": ones_own("instances:read"),
    "POST api_instances": theirs_alone("instances:write", an_order),
    "GET api_instance": theirs_alone("instances:read"),
    "PATCH api_instance": theirs_alone("instances:write", lambda world: {"name": "mine now"}),
    "DELETE api_instance": theirs_alone("instances:write"),
    "POST api_instance_start": theirs_alone("instances:write"),
    "POST api_instance_stop": theirs_alone("instances:write"),
    "POST api_instance_convert": theirs_alone("instances:write", lambda world: {"quote_id": world.ids["quote_id"]}),
    "POST api_instance_extend": theirs_alone("instances:write", lambda world: {"auto_renew": True}),
    "POST api_instance_reimage": theirs_alone("instances:write", lambda world: {"image": "berth-base"}),
    "DELETE api_instance_reimage": theirs_alone("instances:write"),
    "PATCH api_instance_launch": theirs_alone("instances:write", lambda world: {"env": {"A": "1"}}),
    "GET api_instance_resize": theirs_alone("instances:read"),
    "POST api_instance_resize": theirs_alone("instances:write", lambda world: {"data_disk_gb": 20}),
    "POST api_instance_keep": theirs_alone("instances:write", lambda world: {"days": 7}),
    "POST api_instance_bid": theirs_alone("instances:write", lambda world: {"max_price": "1.00"}),
    "DELETE api_instance_bid": theirs_alone("instances:write"),
    "POST api_instance_restart": theirs_alone("instances:write"),
    "POST api_instance_report_fault": theirs_alone("instances:write", lambda _: {"detail": "It does not answer."}),
    "POST api_instance_clone": theirs_alone("instances:write"),
    "POST api_instance_migrate": theirs_alone("instances:write", lambda world: {"offer": world.ids["offer_id"]}),
    "POST api_instance_cancel_move": theirs_alone("instances:write"),
    "GET api_instance_moves": theirs_alone("instances:read"),
    "GET api_instance_events": theirs_alone("instances:read"),
    "GET api_instance_metrics": theirs_alone("instances:read"),
    "GET api_events": ones_own("instances:read"),
    "GET api_alerts": ones_own("instances:read"),
    "POST api_alert_resolve": theirs_alone("instances:write"),
    "GET api_alert_rules": theirs_alone("instances:read"),
    "PUT api_alert_rules": theirs_alone("instances:write", lambda world: {"muted": ["gpu_idle"]}),
    "GET api_instance_usage": theirs_alone("instances:read"),
    "GET api_instance_access": theirs_alone("instances:read"),
    "PATCH api_instance_access": theirs_alone("instances:write", lambda world: {"ssh_key_ids": None}),
    "POST api_instance_password": theirs_alone("instances:connect"),
    "DELETE api_instance_password": theirs_alone("instances:write"),
    "GET api_instance_logs": theirs_alone("instances:read"),
    "POST api_instance_exec": theirs_alone("instances:connect", lambda world: {"command": ["true"]}),
    "GET api_command": theirs_alone("instances:connect"),
    "DELETE api_command": theirs_alone("instances:connect"),
    "POST api_instance_streams": theirs_alone("instances:connect", lambda world: {"kind": "terminal"}),
    "POST api_instance_web_links": theirs_alone("instances:connect", lambda world: {"port": 8888}),
    "GET api_watches": ones_own("instances:read"),
    "POST api_watches": ones_own("instances:write", 201, body=lambda world: {"q": "t4"}),
    "GET api_watch": theirs_alone("instances:read"),
    "DELETE api_watch": theirs_alone("instances:write"),
    "GET api_storage_hosts": public(),
    "GET api_volumes": ones_own("storage:read"),
    "POST api_volume_resize": theirs_alone("storage:write", lambda world: {"size_gb": 500}),
    "POST api_volume_move": theirs_alone("storage:write", lambda world: {"host": world.ids["host_id"]}),
    "POST api_volume_copy": theirs_alone("storage:write", lambda world: {"host": world.ids["host_id"], "name": "mine"}),
    "POST api_volume_cancel_move": theirs_alone("storage:write"),
    "GET api_volume_moves": theirs_alone("storage:read"),
    "POST api_volumes": theirs_alone("storage:write", a_volume),
    "GET api_volume": theirs_alone("storage:read"),
    "DELETE api_volume": theirs_alone("storage:write"),
    "POST api_volume_attach": theirs_alone("storage:write", lambda world: {"instance": world.ids["instance_id"]}),
    "POST api_volume_detach": theirs_alone("storage:write"),
    "GET api_connections": ones_own("storage:read"),
    "POST api_connections": ones_own("storage:write", 400, body=a_connection),
    "GET api_connection": theirs_alone("storage:read"),
    "PUT api_connection": theirs_alone("storage:write", lambda world: {"key_id": "mine", "secret": "now"}),
    "DELETE api_connection": theirs_alone("storage:write"),
    "GET api_syncs": ones_own("storage:read"),
    "GET api_sync": theirs_alone("storage:read"),
    "POST api_sync_cancel": theirs_alone("storage:write"),
    "GET api_volume_syncs": theirs_alone("storage:read"),
    "POST api_volume_syncs": theirs_alone("storage:write", a_sync),
    "GET api_instance_syncs": theirs_alone("storage:read"),
    "POST api_instance_syncs": theirs_alone("storage:write", a_sync),
    "GET api_sync_schedules": ones_own("storage:read"),
    "POST api_sync_schedules": theirs_alone(
        "storage:write", lambda world: {**a_sync(world), "volume": world.ids["volume_id"], "every_hours": 6}
    ),
    "DELETE api_sync_schedule": theirs_alone("storage:write"),
    "GET api_instance_archive": theirs_alone("storage:read"),
    "PUT api_instance_archive": theirs_alone("storage:write", lambda world: {"archive": "off"}),
    "GET api_archive_default": ones_own("storage:read"),
    "PUT api_archive_default": theirs_alone("storage:write", lambda world: {"connection": world.ids["connection_id"]}),
    "GET api_snapshots": ones_own("storage:read"),
    "POST api_snapshots": theirs_alone("storage:write", lambda world: {"volume": world.ids["volume_id"]}),
    "GET api_snapshot": theirs_alone("storage:read"),
    "DELETE api_snapshot": theirs_alone("storage:write"),
    "POST api_snapshot_restore": theirs_alone("storage:write"),
    "GET api_data_sets": ones_own("storage:read"),
    "POST api_data_sets": theirs_alone("storage:write", a_data_set),
    "GET api_data_set": theirs_alone("storage:read"),
    "DELETE api_data_set": theirs_alone("storage:write"),
    "POST api_data_set_attach": theirs_alone("storage:write", lambda world: {"instance": world.ids["instance_id"]}),
    "POST api_data_set_detach": theirs_alone("storage:write", lambda world: {"instance": world.ids["instance_id"]}),
    "GET api_instance_storage": theirs_alone("storage:read"),
    "GET api_wallet": ones_own("billing:read"),
    "GET api_wallet_entries": ones_own("billing:read"),
    "GET api_wallet_entries_csv": ones_own("billing:read"),
    "GET api_wallet_entry": theirs_alone("billing:read"),
    "GET api_wallet_spend": ones_own("billing:read"),
    "GET api_usage_records": ones_own("billing:read"),
    "GET api_seals": ones_own("billing:read"),
    "GET api_coupons": ones_own("billing:read"),
    "POST api_coupon_redeem": theirs_alone("billing:write", lambda world: {"code": "NO-SUCH-CODE"}),
    "GET api_orders": ones_own("billing:read"),
    "GET api_invoices": ones_own("billing:read"),
    "GET api_invoice": theirs_alone("billing:read"),
    "GET api_invoice_pdf": theirs_alone("billing:read"),
    "GET api_topups": ones_own("billing:read"),
    "POST api_topups": ones_own("billing:write", 409, body=lambda world: {"amount": "25"}),  # no Stripe in these tests
    "GET api_topup": theirs_alone("billing:read"),
    "GET api_payouts": ones_own("billing:read"),
    "POST api_payouts": ones_own("billing:write", 409),
    "GET api_payable": ones_own("billing:read"),
    "GET api_payout": theirs_alone("billing:read"),
    "GET api_payout_account": ones_own("billing:read", 404),
    "PUT api_payout_account": ones_own("billing:write", 403, body=a_payout_account),
    "POST api_payout_onboarding": ones_own("billing:write", 403),
    "GET api_earnings": ones_own("hosts:read"),
    "GET api_host_earnings": theirs_alone("hosts:read"),
    "GET api_budgets": ones_own("billing:read"),
    "POST api_budgets": ones_own("billing:write", 201, body=lambda world: {"scope": "member", "limit": "5.00"}),
    "GET api_budget": theirs_alone("billing:read"),
    "PATCH api_budget": theirs_alone("billing:write", lambda world: {"limit": "1.00"}),
    "DELETE api_budget": theirs_alone("billing:write"),
    "GET api_teams": ones_own(ANY_SCOPE),
    "POST api_teams": ones_own("account:write", 201, body=lambda world: {"name": "x"}),
    "POST api_team_join": theirs_alone("account:write", lambda world: {"secret": "x"}),
    "GET api_team": theirs_alone(ANY_SCOPE),
    "PATCH api_team": theirs_alone("account:write", lambda world: {"name": "mine now"}),
    "DELETE api_team": theirs_alone("account:write"),
    "GET api_team_members": theirs_alone(ANY_SCOPE),
    "POST api_team_members": theirs_alone("account:write", lambda world: {"email": "x@example.com"}),
    "PATCH api_team_member": theirs_alone("account:write", lambda world: {"role": "owner"}),
    "DELETE api_team_member": theirs_alone("account:write"),
    "GET api_team_spending": theirs_alone("billing:read"),
    "POST api_team_transfers": theirs_alone(
        "billing:write", lambda world: {"to": public_id("user", world.renter.pk), "amount": "1.00"}
    ),
    "GET api_hosts": ones_own("hosts:read"),
    "GET api_host": theirs_alone("hosts:read"),
    "GET api_host_self_test": theirs_alone("hosts:read"),
    "POST api_host_self_test": theirs_alone("hosts:write"),
    "POST api_host_revoke_agent": theirs_alone("hosts:write"),
    "PATCH api_host_listing": theirs_alone("hosts:write", a_listing),
    "POST api_host_maintenance": theirs_alone("hosts:write", lambda world: {"draining": True}),
    "GET api_host_maintenance": theirs_alone("hosts:read"),
    "DELETE api_host_maintenance_one": theirs_alone("hosts:write"),
    "GET api_host_reliability": public(),
    "POST api_join_tokens": Rule(
        "hosts:write", (201, 403), lambda world: {"host_name": "x", "region": "eu", "price_hourly": "1"}
    ),
    "GET api_live": ones_own(ANY_SCOPE),
    "GET api_me": ones_own(ANY_SCOPE),
    "PATCH api_me": ones_own("account:write", body=lambda world: {"display_name": "x"}),
    "GET api_account_events": ones_own("account:read"),
    "GET api_tokens": ones_own("tokens:write"),
    "POST api_tokens": ones_own("tokens:write", 201, body=lambda world: {"name": "x", "scopes": ["keys:read"]}),
    "GET api_token": theirs_alone("tokens:write"),
    "DELETE api_token": theirs_alone("tokens:write"),
    "GET api_webhooks": ones_own("webhooks:read"),
    "POST api_webhooks": ones_own("webhooks:write", 201, body=lambda world: {"url": "https://9.9.9.9/hook"}),
    "GET api_webhook": theirs_alone("webhooks:read"),
    "PATCH api_webhook": theirs_alone("webhooks:write", lambda world: {"description": "mine now"}),
    "DELETE api_webhook": theirs_alone("webhooks:write"),
    "POST api_webhook_rotate": theirs_alone("webhooks:write"),
    "POST api_webhook_test": theirs_alone("webhooks:write"),
    "GET api_webhook_deliveries": theirs_alone("webhooks:read"),
    "POST api_webhook_again": theirs_alone("webhooks:write"),
    "GET api_channels": ones_own("webhooks:read"),
    "POST api_channels": ones_own("webhooks:write", 201, body=a_channel),
    "GET api_channel": theirs_alone("webhooks:read"),
    "PATCH api_channel": theirs_alone("webhooks:write", lambda world: {"name": "mine now"}),
    "DELETE api_channel": theirs_alone("webhooks:write"),
    "POST api_channel_test": theirs_alone("webhooks:write"),
    "GET api_channel_deliveries": theirs_alone("webhooks:read"),
    "GET api_channel_delivery": theirs_alone("webhooks:read"),
    "POST api_channel_again": theirs_alone("webhooks:write"),
    "GET api_ssh_keys": ones_own("keys:read"),
    "POST api_ssh_keys": ones_own("keys:write", 201, body=lambda world: {"name": "x", "public_key": PUBLIC_KEY}),
    "GET api_ssh_key": theirs_alone("keys:read"),
    "DELETE api_ssh_key": theirs_alone("keys:write"),
}
GUARDED = [endpoint for endpoint in ENDPOINTS if endpoint.label in RULES and RULES[endpoint.label].scope is not None]
each_guarded = pytest.mark.parametrize("endpoint", GUARDED, ids=lambda endpoint: endpoint.label)


def ask(client: Client, endpoint: Endpoint, world: World, ids: dict[str, str] | None = None) -> Any:
    body = json.dumps(RULES[endpoint.label].body(world)) if endpoint.method in ("POST", "PATCH", "PUT") else ""
    address = endpoint.address(ids or world.ids)
    reply: Any = client.generic(endpoint.method, address, body, content_type="application/json")
    reply.sent = address + body
    return reply


def with_text(text: str) -> Client:
    return Client(headers={"authorization": f"Bearer {text}"})


def token_client(user: User, scopes: list[str] | None = None) -> Client:
    return with_text(issue_token(user=user, name="attempt", scopes=scopes or list(SCOPES))[1])


def assert_nothing_leaked(reply: Any, world: World) -> None:
    """None of the victims' marks, but for what the asker has sent."""
    text = reply.getvalue().decode()  # streamed or not
    assert [mark for mark in world.marks if mark in text and mark not in reply.sent] == []


def assert_refused(client: Client, endpoint: Endpoint, world: World, *statuses: int) -> None:
    reply = ask(client, endpoint, world)
    assert reply.status_code in statuses, (reply.status_code, reply.content)
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert_nothing_leaked(reply, world)


def test_every_endpoint_has_a_rule_and_every_rule_an_endpoint() -> None:
    assert {endpoint.label for endpoint in ENDPOINTS} == set(RULES)


def test_each_view_declares_what_its_rule_says(subtests: pytest.Subtests) -> None:
    for endpoint in ENDPOINTS:
        with subtests.test(endpoint.label):
            scope = RULES[endpoint.label].scope
            if endpoint.view is None:
                assert endpoint.label == "GET openapi"
            elif scope is None:
                assert list(endpoint.view.permission_classes) in ([AllowAny], [PublicToRead])
            else:
                writes = list(endpoint.view.permission_classes) == [PublicToRead] and endpoint.method != "GET"
                assert writes or list(endpoint.view.permission_classes) == [HasScope]
                assert endpoint.view.scopes[endpoint.method] == scope


@each_guarded
def test_without_a_live_token(endpoint: Endpoint, world: World) -> None:
    """None, wrong ones, and the victim's own after its end."""
    revoked, revoked_text = issue_token(user=world.renter, name="revoked", scopes=list(SCOPES))
    expired, expired_text = issue_token(user=world.renter, name="expired", scopes=list(SCOPES))
    _, closed_text = issue_token(user=world.renter, name="live", scopes=list(SCOPES))
    revoke_token(user=world.renter, token_id=revoked.pk)
    ApiToken.objects.filter(pk=expired.pk).update(expires_at=clock.now() - timedelta(seconds=1))
    before = rows()
    assert_refused(Client(), endpoint, world, 401)
    for text in ("", "garbage", "berth_0123456789ab_" + "0" * 64, "é", "Bearer x y", revoked_text, expired_text):
        assert_refused(with_text(text), endpoint, world, 401)
    assert rows() == before
    User.objects.filter(pk=world.renter.pk).update(is_active=False)
    assert_refused(with_text(closed_text), endpoint, world, 401)


@each_guarded
def test_with_the_victims_own_token_but_another_scope(endpoint: Endpoint, world: World) -> None:
    scope = RULES[endpoint.label].scope
    if scope == ANY_SCOPE:
        assert ask(token_client(world.renter, ["keys:read"]), endpoint, world).status_code == 200
        return
    client = token_client(world.renter, [name for name in SCOPES if name != scope])
    before = rows()
    assert_refused(client, endpoint, world, 403)
    assert rows() == before


@each_guarded
@pytest.mark.parametrize("role", ["other renter", "other host owner", "staff"])
def test_as_another_person_with_every_scope(
    endpoint: Endpoint, world: World, mallory: User, stella: User, role: str
) -> None:
    if role == "other host owner":
        User.objects.filter(pk=mallory.pk).update(is_host_owner=True)
    client = token_client(stella if role == "staff" else mallory)
    before = rows()
    reply = ask(client, endpoint, world)
    assert reply.status_code in RULES[endpoint.label].others, (reply.status_code, reply.content)
    if endpoint.label != "POST api_ssh_keys":  # which returns the fingerprint of the key that was sent
        assert_nothing_leaked(reply, world)
    changed = {row for row in before - rows() if mallory.email not in row[1] and stella.email not in row[1]}
    assert changed == set()
    if reply.status_code in REFUSED:
        assert rows() == before


@each_guarded
def test_the_renter_is_a_stranger_to_the_host_and_the_owner_to_the_instance(endpoint: Endpoint, world: World) -> None:
    scope = RULES[endpoint.label].scope or ""
    of_the_host = scope.startswith("hosts:") or "payout" in endpoint.name
    outsider = world.renter if of_the_host else world.host_owner
    if 404 in RULES[endpoint.label].others:
        client = token_client(outsider)
        before = rows()
        assert_refused(client, endpoint, world, 404)
        assert rows() == before


@each_guarded
def test_what_is_not_yours_looks_like_what_is_not(endpoint: Endpoint, world: World, mallory: User) -> None:
    if not endpoint.names_a_thing:
        return
    client = token_client(mallory)
    strange = strange_ids(world.ids)
    foreign, absent = ask(client, endpoint, world).json(), ask(client, endpoint, world, strange).json()
    for name, text in world.ids.items():
        foreign["detail"] = re.sub(rf"\b{text}\b", strange[name], foreign["detail"])
    assert foreign == absent


@each_guarded
def test_with_ids_that_are_none(endpoint: Endpoint, world: World) -> None:
    if not endpoint.names_a_thing:
        return
    client = token_client(world.renter)
    some = {name: "host_" + "0" * 32 if name != "host_id" else "inst_" + "0" * 32 for name in world.ids}
    for ids in (some, dict.fromkeys(world.ids, "0"), dict.fromkeys(world.ids, "é")):
        assert ask(client, endpoint, world, ids).status_code == 404
    unstorable = ask(client, endpoint, world, dict.fromkeys(world.ids, "%00"))
    assert (unstorable.status_code, unstorable.json()["errors"][0]["field"]) == (400, "path")


@each_guarded
def test_with_the_victims_session_from_another_site(endpoint: Endpoint, world: World) -> None:
    """Cross-site request forgery: a session without the CSRF token may read, and that only from its own origin."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.renter)
    if endpoint.method == "GET":
        assert "Access-Control-Allow-Origin" not in ask(browser, endpoint, world).headers
    else:
        before = rows()
        assert_refused(browser, endpoint, world, 403)
        assert rows() == before


@pytest.mark.parametrize(
    "endpoint", [e for e in ENDPOINTS if RULES.get(e.label) == public()], ids=lambda endpoint: endpoint.label
)
def test_public_endpoints_show_nothing_private(endpoint: Endpoint, world: World) -> None:
    reply = ask(Client(), endpoint, world)
    assert reply.status_code == 200
    assert_nothing_leaked(reply, world)


@pytest.mark.parametrize("address", ["/api", "/api/", "/api/v1", "/api/v1/", "/agent/v1/", "/agent/"])
def test_roots_list_nothing(address: str, db: None) -> None:
    assert Client().get(address).status_code == 404
