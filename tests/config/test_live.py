"""A script that waits: the addresses of GET /live lead to the relay, and its answer comes with the change."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from accounts.services.tokens import issue_token
from agents.protocol.tickets import BadTicket, read_ticket
from common import clock, wake
from config.policy import SCRIPT_TICKET_LIFETIME
from tests.web.serving import free_port, relay


@pytest.fixture
def listening(settings: Settings) -> Iterator[None]:
    port = free_port()
    settings.RELAY_URL = f"http://127.0.0.1:{port}"
    with relay(port=port, secret=settings.RELAY_SECRET, origin="http://testserver"):
        yield


def live(client: Client, user: User, scope: str = "instances:read") -> Any:
    _, text = issue_token(user=user, issuer=None, name="script", scopes=[scope])
    reply = client.get("/api/v1/live", headers={"Authorization": f"Bearer {text}"})
    assert (reply.status_code, reply.headers["Cache-Control"]) == (200, "no-store")
    return reply.json()


def version(address: str, since: int) -> int:
    reply = httpx.get(f"{address}&since={since}", timeout=20)
    assert reply.status_code == 200, reply.text
    return int(reply.json()["version"])


@pytest.mark.django_db
def test_a_wait_ends_with_the_next_change(client: Client, alice: User, listening: None) -> None:
    address = live(client, alice)["wait_url"]
    wake._touch_now((f"user:{alice.pk.hex}",))
    seen = version(address, 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(version, address, seen)
        assert not waiting.done()
        wake._touch_now((f"user:{alice.pk.hex}",))
        assert waiting.result(20) == seen + 1


def topic_of(settings: Settings, address: str) -> str:
    ticket = httpx.URL(address).params["ticket"]
    return read_ticket(settings.RELAY_SECRET, ticket, now=clock.now().timestamp()).topic


@pytest.mark.django_db
def test_who_may_not_read_instances_hears_no_news_of_them(client: Client, alice: User, settings: Settings) -> None:
    assert topic_of(settings, live(client, alice, "billing:read")["wait_url"]) == f"user:{alice.pk.hex}"


@pytest.mark.django_db
def test_events_come_too(client: Client, alice: User, listening: None) -> None:
    wake._touch_now((f"user:{alice.pk.hex}",))
    with httpx.stream("GET", live(client, alice)["events_url"], timeout=20) as reply:
        assert next(line for line in reply.iter_lines() if line.startswith("event:")) == "event: change"


@pytest.mark.django_db
def test_the_ticket_is_the_asker_s_own_and_ends(client: Client, alice: User, settings: Settings) -> None:
    told = live(client, alice)
    ticket, now = httpx.URL(told["wait_url"]).params["ticket"], clock.now()
    assert topic_of(settings, told["wait_url"]) == f"news:{alice.pk.hex}"
    assert topic_of(settings, told["events_url"]) == f"user:{alice.pk.hex}"
    with pytest.raises(BadTicket, match="expired"):
        read_ticket(settings.RELAY_SECRET, ticket, now=(now + SCRIPT_TICKET_LIFETIME + timedelta(seconds=1)).timestamp())
