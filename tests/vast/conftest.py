"""The fixtures of hosts and funded renters, and requests as clients of Vast send them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from marketplace.models import Host
from storage.models import Image
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock, Sign, hours, image, rin, sign

__all__ = ["hours", "image", "rin", "sign"]

Send = Callable[..., Any]


class Vast:
    """One client of the API of Vast."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def send(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        """Send a request below /api/v0, or to a path that names its version."""
        full = path if path.startswith("/api/") else f"/api/v0{path}"
        if method == "GET":
            return self.client.get(full, query)
        verb = getattr(self.client, method.lower())
        return verb(full, body if body is not None else {}, content_type="application/json")

    def must(self, method: str, path: str, body: Any = None, **query: str) -> Any:
        reply = self.send(method, path, body, **query)
        assert reply.status_code == 200, reply.content
        assert reply.headers["Content-Type"] == "application/json"
        return reply.json()

    def offers(self, **conditions: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.must("POST", "/bundles/", conditions)["offers"]
        return found

    def refused(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, str]:
        reply = self.send(method, path, body, **query)
        answer = reply.json()
        assert answer["success"] is False and answer["msg"], answer
        assert reply.headers["Content-Type"] == "application/json"
        return reply.status_code, answer["error"]


@pytest.fixture
def host(hours: Clock, hana: User, image: Image) -> FakeHost:
    """Four GPUs at 3.60 an hour each, with an agent that applies launch settings."""
    made = FakeHost(hana)
    Host.objects.filter(pk=made.offer.host_id).update(launch_settings=True)
    return made


@pytest.fixture
def vast(rin: User, sign: Sign) -> Vast:
    return Vast(sign(rin))


@pytest.fixture
def bids(host: FakeHost) -> FakeHost:
    """The host takes bids from 1.00 per GPU on."""
    host.offer.spot_floor_micros = 1_000_000
    host.offer.save(update_fields=["spot_floor_micros"])
    return host


BODY: dict[str, Any] = {
    "client_id": "me",
    "image": "berth-base",
    "env": {},
    "price": None,
    "disk": 10,
    "label": None,
    "extra": None,
    "onstart": None,
    "image_login": None,
    "python_utf8": False,
    "lang_utf8": False,
    "use_jupyter_lab": False,
    "jupyter_dir": None,
    "force": False,
    "cancel_unavail": False,
    "template_hash_id": None,
    "user": None,
    "runtype": "ssh_proxy",
}
"""A create as the CLI sends it without options."""
