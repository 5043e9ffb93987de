"""NUL in addresses, forms, cookies and headers; halves of surrogates and deep nesting in JSON: refused, never a crash."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.teams.services import create_team
from accounts.tokens.services import issue_token
from common.http.bodies import MOST_NESTED
from common.ids import public_id

DEEP = b"[" * 100_000
BODIES: dict[str, tuple[bytes, str]] = {
    "NUL in a value": (rb'{"task": "\u0000"}', "task"),
    "half a pair in a value": (rb'{"task": "\ud800"}', "task"),
    "half a pair in a list": (rb'{"task": ["a", {"b": "\udfff"}]}', "task.1.b"),
    "half a pair in a name": (rb'{"\ud800": 1}', r"\ud800"),
    "nested too deep to be read": (DEEP, ""),
    "nested too deep in a field": (b'{"task": ' + b"[" * MOST_NESTED + b"]" * MOST_NESTED + b"}", "task"),
    "a number beyond 64 bits": (b'{"parameters_b": 1' + b"0" * 400 + b"}", "parameters_b"),
    "a fraction beyond 64 bits": (b'{"parameters_b": 1e400}', "parameters_b"),
}
NO_JSON = {
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "ten thousand digits": b"1" * 10_000,
    "no UTF-8": b'"\xff"',
}


def refused_field(reply: Any) -> str:
    body = json.loads(reply.content)
    assert (reply.status_code, reply["Content-Type"], body["code"]) == (400, "application/problem+json", "invalid_input")
    (error,) = body["errors"]
    assert error["detail"].startswith(("Send ", "Nest "))
    return str(error["field"])


@pytest.mark.parametrize("body", BODIES, ids=list(BODIES))
def test_a_body_is_refused_by_the_field(client: Client, db: None, body: str) -> None:
    sent, field = BODIES[body]
    assert refused_field(client.post("/api/v1/advice", sent, content_type="application/json")) == field


@pytest.mark.parametrize("body", NO_JSON, ids=list(NO_JSON))
def test_what_is_no_json_is_refused(client: Client, db: None, body: str) -> None:
    reply = client.post("/api/v1/advice", NO_JSON[body], content_type="application/json")
    assert (reply.status_code, json.loads(reply.content)["code"]) == (400, "parse_error")


def test_pairs_of_surrogates_and_lawful_nesting_are_read(client: Client, db: None) -> None:
    nested = b'{"task": ' + b"[" * (MOST_NESTED - 1) + b'"\\ud83d\\ude00"' + b"]" * (MOST_NESTED - 1) + b"}"
    errors = json.loads(client.post("/api/v1/advice", nested, content_type="application/json").content)["errors"]
    assert {"field": "task", "code": "invalid_choice"} in [{k: e[k] for k in ("field", "code")} for e in errors]


def headers_of(user: User) -> dict[str, str]:
    return {"authorization": f"Bearer {issue_token(user=user, name='t', scopes=list(SCOPES))[1]}"}


ADDRESSES = {
    "/api/v1/instances?state=%00": "state",
    "/api/v1/offers?gpu%00=t4": r"gpu\u0000",
    "/api/v1/instances?cursor=a%00b": "cursor",
    "/api/v1/gpus/%00": "path",
    "/api/v1/instances/inst_%00": "path",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_refused_by_the_part(client: Client, alice: User, address: str) -> None:
    assert refused_field(client.get(address, headers=headers_of(alice))) == ADDRESSES[address]


def test_a_header_is_refused(client: Client, alice: User) -> None:
    headers = {**headers_of(alice), "idempotency-key": "a\x00"}
    reply = client.post("/api/v1/teams", {"name": "x"}, content_type="application/json", headers=headers)
    assert refused_field(reply) == "Idempotency-Key"


@pytest.mark.parametrize("address", ["/market?q=%00", "/market/%00", "/instances?gone=%00", "/%00"])
def test_a_page_says_so_in_the_readers_language(client: Client, alice: User, address: str) -> None:
    client.force_login(alice)
    reply = client.get(address, headers={"accept-language": "zh-hans"})
    assert reply.status_code == 400
    assert "无法存储" in reply.content.decode()
    part = client.get(address, headers={"hx-request": "true"})
    assert (part.status_code, part["HX-Retarget"]) == (400, "#toasts")


def test_a_form_is_refused_and_not_repeated(client: Client, stella: User) -> None:
    reply = client.post("/accounts/login/", {"login": "a@example.com", "password": "hunter-two\x00"})
    assert reply.status_code == 400
    assert b"hunter" not in reply.content
    client.force_login(stella)
    for address in ("/settings/profile", "/admin/accounts/team/add/", "/host-panel/"):
        assert client.post(address, {"name": "a\x00"}).status_code == 400


@pytest.mark.parametrize("cookie", ["sessionid", "csrftoken", "django_language", "messages", "device"])
def test_a_cookie_that_holds_nul_is_none(client: Client, db: None, cookie: str) -> None:
    reply = client.get("/market", headers={"cookie": rf'{cookie}="\000aaaaaaaaaaaaaaaaaaaa"'})
    assert reply.status_code == 200


@pytest.mark.parametrize("address", ["http://[", "http://[::1/instances", "https://a]b/"])
def test_a_page_that_a_header_names_wrongly_is_none(client: Client, alice: User, address: str) -> None:
    part = {"hx-request": "true", "hx-current-url": address}
    assert client.get("/instances", headers=part)["HX-Redirect"] == "/accounts/login/?next="
    client.force_login(alice)
    assert client.get("/console/banners", headers=part).status_code == 200
    place = create_team(user=alice, name="Lab").memberships.get()
    team, member = public_id("team", place.team_id), public_id("memb", place.pk)
    refused = client.post(f"/settings/teams/{team}/members/{member}/remove", headers={"referer": address})
    assert (refused.status_code, refused["Location"]) == (303, "/instances"), "its last owner stays"
