"""The pages of the ways in: what a renter reads and sends there, and that nobody else does."""

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from accounts.ssh_keys.services import add_ssh_key
from common import clock
from common.ids import public_id
from instances.access.logs import LogSearch
from instances.models import Instance, LogRead
from instances.release.services import release_instance
from marketplace.models import Host
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.web.world import KEY, OTHER_KEY

HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


def path(instance: Instance, rest: str) -> str:
    return f"/instances/{public_id('inst', instance.pk)}/{rest}"


def send(page: Client, instance: Instance, what: str, **fields: object) -> str:
    return page.post(path(instance, "access"), {"what": what, **fields}, headers=HTMX).content.decode()


def test_strangers_and_others_see_nothing(client: Client, running: Instance, mallory: User) -> None:
    for rest in ("access", "logs", "web/8888"):
        assert client.get(path(running, rest))["Location"].startswith("/accounts/login/")
    client.force_login(mallory)
    for rest in ("access", "logs", "web/8888"):
        assert client.get(path(running, rest)).status_code == 404
    assert client.post(path(running, "access"), {"what": "password"}).status_code == 404
    assert reload(running).sealed_password == ""


def test_keys_addresses_and_ports_are_changed_by_their_forms(page: Client, rin: User, running: Instance) -> None:
    one, other = (add_ssh_key(user=rin, name=name, public_key=key) for name, key in (("one", KEY), ("other", OTHER_KEY)))
    text = send(page, running, "keys", every="0", ssh_key_ids=[public_id("key", other.pk)])
    assert reload(running).ssh_keys == [other.public_key] and "one" in text
    send(page, running, "keys", every="1")
    assert reload(running).all_keys and set(reload(running).ssh_keys) == {one.public_key, other.public_key}

    send(page, running, "addresses", allow_from="203.0.113.7\n2001:db8::/32, 198.51.100.0/24")
    assert reload(running).allow_from == ["203.0.113.7/32", "2001:db8::/32", "198.51.100.0/24"]
    text = send(page, running, "addresses", allow_from="203.0.113.0/24\nhome")
    assert "home" in text and 'role="alert"' in text and reload(running).allow_from[0] == "203.0.113.7/32"

    text = send(page, running, "ports", ports="7860, 8000")
    numbers = dict(reload(running).ports)
    assert f"127.0.0.1:{numbers[7860]}" in text and "Takes effect after the next restart" in text
    for wrong in ("22", "x", "70000", "443999", "1" + "0" * 5_000, ", ".join(map(str, range(3000, 3009)))):
        assert 'role="alert"' in send(page, running, "ports", ports=wrong)
    assert dict(reload(running).ports) == numbers
    Host.objects.update(publishes_udp=True)
    text = send(page, running, "ports", ports="7860/udp, 8000/tcp")
    assert reload(running).udp_ports == [7860] and dict(reload(running).ports) == numbers
    assert 'value="7860/udp, 8000"' in text and "UDP</span>" in text
    assert "nonsense" not in send(page, running, "nonsense")


def test_a_password_is_on_the_page_once(page: Client, running: Instance) -> None:
    text = send(page, running, "password")
    password = text.partition('id="new-password" tabindex="0">')[2].partition("<")[0]
    assert len(password) == 20
    assert password not in page.get(path(running, "access")).content.decode()
    assert reload(running).password_set_at is not None
    send(page, running, "no_password")
    assert reload(running).sealed_password == ""


def test_the_log_is_shown_as_far_as_it_is_known(page: Client, rin: User, running: Instance) -> None:
    content = page.get(path(running, "logs"), headers=HTMX).content.decode()
    assert "data-reading" in content and "<html" not in content
    search = LogSearch(q="<b>")
    lines = [["2026-11-21T10:00:00Z", "a <b>bold</b> line"]]
    LogRead.objects.create(instance=running, question=search.question, lines=lines, read_at=clock.now())
    text = page.get(path(running, "logs?q=<b>")).content.decode()
    assert "a &lt;b&gt;bold&lt;/b&gt; line" in text and "10:00:00" in text
    release_instance(renter=rin, instance_id=running.pk)
    Instance.objects.filter(pk=running.pk).update(state="gone", released_at=clock.now())
    assert page.get(path(running, "logs")).status_code == 200
    assert "can't be accessed" in page.get(path(running, "access")).content.decode()


def test_one_click_opens_a_program(page: Client, running: Instance, settings: Settings) -> None:
    settings.RELAY_WEB_HOST, settings.RELAY_URL = "localhost:8001", "http://127.0.0.1:8001"
    opened = page.get(path(running, "web/8888"))
    assert opened["Location"].startswith(f"http://{running.pk.hex}-8888.localhost:8001/relay/v1/web/")
    assert (opened["Referrer-Policy"], opened["Cache-Control"]) == ("no-referrer", "no-store, private")
    assert f"{running.pk.hex}-9999" in page.get(path(running, "web?port=9999"))["Location"]
    for refused in ("web/22", "web?port=22"):
        assert page.get(path(running, refused)).status_code == 404
    assert page.get(path(running, "web?port=x")).status_code == 400
    assert "In the browser" in page.get(path(running, "access")).content.decode()
    settings.RELAY_WEB_HOST = ""
    assert page.get(path(running, "web/9999")).status_code == 404
    ports = dict(running.ports)
    assert page.get(path(running, "web/6006"))["Location"] == f"http://127.0.0.1:{ports[6006]}/"
    assert running.jupyter_token in page.get(path(running, "web/8888"))["Location"]
