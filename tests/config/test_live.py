"""A script that waits: the addresses of GET /live lead to the relay, and its answer comes with the change."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
import redis
from django.test import Client
from pytest_django import Settings

from accounts.constants import TICKETS_LAST
from accounts.end_access import republish_ended_credentials
from accounts.models import ApiToken, User
from accounts.sessions.services import end_everything
from accounts.tokens.services import issue_token, revoke_all_tokens, revoke_token
from agents.protocol.tickets import BadTicket, read_ticket
from common import change_counters, clock, revocation
from config.constants import EVENT_TICKET_LIFETIME, SCRIPT_TICKET_LIFETIME
from instances.constants import WEB_VISIT_LIFETIME
from instances.core.stream_tickets import DOWNLOAD_LIFETIME, STREAM_LIFETIME
from tests.agents.relay.conftest import wait_until as wait_for
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
    change_counters._notify_change_now((f"user:{alice.pk.hex}",))
    seen = version(address, 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(version, address, seen)
        assert not waiting.done()
        change_counters._notify_change_now((f"user:{alice.pk.hex}",))
        assert waiting.result(20) == seen + 1


def topic_of(settings: Settings, address: str) -> str:
    ticket = httpx.URL(address).params["ticket"]
    return read_ticket(settings.RELAY_SECRET, ticket, now=clock.now().timestamp()).topic


@pytest.mark.django_db
def test_who_may_not_read_instances_hears_no_news_of_them(client: Client, alice: User, settings: Settings) -> None:
    assert topic_of(settings, live(client, alice, "billing:read")["wait_url"]) == f"user:{alice.pk.hex}"


@pytest.mark.django_db
def test_events_come_too(client: Client, alice: User, listening: None) -> None:
    change_counters._notify_change_now((f"user:{alice.pk.hex}",))
    with httpx.stream("GET", live(client, alice)["events_url"], timeout=20) as reply:
        assert next(line for line in reply.iter_lines() if line.startswith("event:")) == "event: change"


@pytest.mark.django_db
def test_the_ticket_is_the_asker_s_own_and_ends(client: Client, alice: User, settings: Settings) -> None:
    links = live(client, alice)
    ticket, now = httpx.URL(links["wait_url"]).params["ticket"], clock.now()
    assert topic_of(settings, links["wait_url"]) == f"news:{alice.pk.hex}"
    assert topic_of(settings, links["events_url"]) == f"user:{alice.pk.hex}"
    with pytest.raises(BadTicket, match="expired"):
        read_ticket(settings.RELAY_SECRET, ticket, now=(now + SCRIPT_TICKET_LIFETIME + timedelta(seconds=1)).timestamp())


# -- tickets fall with what they were asked for with


def status(address: str) -> int:
    return httpx.get(f"{address}&since=0", timeout=20).status_code


@pytest.fixture
def watched(listening: None, alice: User, transactional_db: None) -> User:
    change_counters._notify_change_now((f"user:{alice.pk.hex}",))
    return alice


def live_of_session(browser: Client) -> str:
    reply = browser.get("/api/v1/live")
    assert reply.status_code == 200
    return str(reply.json()["wait_url"])


def page_events(browser: Client) -> str:
    found = re.search(r'sse-connect="([^"]+)"', browser.get("/settings/security").content.decode())
    assert found is not None
    return found.group(1).replace("&amp;", "&")


def until_refused(*addresses: str) -> None:
    wait_for(lambda: all(status(address) == 401 for address in addresses))


def test_the_address_of_a_revoked_token_answers_no_more(client: Client, watched: User) -> None:
    first, second = live(client, watched)["wait_url"], live(client, watched)["wait_url"]
    assert (status(first), status(second)) == (200, 200)
    token = ApiToken.objects.filter(user=watched).order_by("created_at")[0]
    revoke_token(user=watched, token_id=token.pk)
    until_refused(first)
    assert status(second) == 200


@pytest.mark.parametrize("way", ["password", "everywhere", "off"])
def test_all_addresses_fall_with_the_account_s_access(client: Client, watched: User, way: str) -> None:
    browser = Client()
    browser.force_login(watched)
    addresses = [live(client, watched)["wait_url"], live_of_session(browser), page_events(browser)]
    assert [status(address) for address in addresses[:2]] == [200, 200]
    if way == "password":
        new = "another-horse-battery-9"
        form = {"oldpassword": "correct-horse-battery", "password1": new, "password2": new}
        assert browser.post("/accounts/password/change/", form).status_code == 302
    elif way == "everywhere":
        end_everything(user=watched, keep="", tokens=False)
    else:
        staff = Client()
        staff.force_login(User.objects.create_superuser("stella@example.com", "x"))
        path = f"/admin/accounts/user/{watched.pk}/change/"
        assert staff.post(path, {"email": watched.email, "display_name": "A"}).status_code == 302
        watched.refresh_from_db()
        assert not watched.is_active
    until_refused(*addresses)


def test_a_session_s_addresses_fall_with_the_session(client: Client, watched: User) -> None:
    browser, other = Client(), Client()
    browser.force_login(watched)
    other.force_login(watched)
    mine, events, others = live_of_session(browser), page_events(browser), live_of_session(other)
    browser.post("/accounts/logout/")
    until_refused(mine, events)
    assert status(others) == 200


def test_the_sweep_tells_again_what_redis_has_lost(client: Client, watched: User, settings: Settings) -> None:
    address = live(client, watched)["wait_url"]
    revoke_all_tokens(user=watched)
    until_refused(address)
    redis.Redis.from_url(settings.REDIS_URL).delete(revocation.KEY)
    assert republish_ended_credentials(now=clock.now()) == 1
    assert redis.Redis.from_url(settings.REDIS_URL).zcard(revocation.KEY) == 1
    assert republish_ended_credentials(now=clock.now() + TICKETS_LAST + timedelta(seconds=1)) == 0
    assert redis.Redis.from_url(settings.REDIS_URL).zcard(revocation.KEY) == 0


def test_no_ticket_outlives_the_memory_of_what_has_ended() -> None:
    lifetimes = (EVENT_TICKET_LIFETIME, SCRIPT_TICKET_LIFETIME, WEB_VISIT_LIFETIME, DOWNLOAD_LIFETIME, STREAM_LIFETIME)
    assert max(lifetimes) < TICKETS_LAST
