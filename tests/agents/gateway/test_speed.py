"""The speed test at the gateway: signed, once, bounded in size and number, and apart from the count of the syncs."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.http import HttpResponse
from django.test import Client

from agents.gateway.constants import SPEED_REQUESTS_PER_WINDOW, SPEED_WINDOW
from agents.gateway.models import AgentIdentity
from agents.protocol.port_check import ASK_PATH, DIAL_PATH, PortCheckTarget, parse_target
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope
from agents.protocol.speed_test import LARGEST_BYTES, SERVER_TIME_HEADER, SPEED_PATH
from agents.protocol.tickets import read_ticket
from common import clock
from marketplace.hosts.agent_keys import revoke_agent

from .conftest import SYNC, Agent, audited, code_of, encode_body, post, report

pytestmark = pytest.mark.django_db


def headers(agent: Agent, method: str, path: str, body: bytes = b"") -> dict[str, str]:
    agent.sequence += 1
    envelope = Envelope(agent.host_id, agent.boot_id, agent.sequence)
    return {
        HOST_HEADER: envelope.host_id,
        BOOT_HEADER: envelope.boot_id,
        SEQUENCE_HEADER: str(envelope.sequence),
        SIGNATURE_HEADER: agent.key.sign(envelope.signing_input(method, path, body)).hex(),
    }


def upload(agent: Agent, body: bytes, signed: dict[str, str] | None = None) -> HttpResponse:
    signed = headers(agent, "POST", SPEED_PATH, body) if signed is None else signed
    return post(agent.client, SPEED_PATH, body, signed)


def download(agent: Agent, count: int, signed: dict[str, str] | None = None) -> HttpResponse:
    path = f"{SPEED_PATH}/{count}"
    signed = headers(agent, "GET", path) if signed is None else signed
    return agent.client.get(path, headers=signed)  # type: ignore[return-value]  # the test client's subclass


@pytest.fixture
def known(agent: Agent) -> Agent:
    """An agent that has synced: the control plane knows its boot."""
    agent.sync()
    return agent


@pytest.mark.parametrize("size", [0, 1, 65_536, 3 * 1024 * 1024, LARGEST_BYTES])
def test_bytes_go_up_and_down(known: Agent, size: int) -> None:
    taken = upload(known, b"x" * size)
    assert (taken.status_code, taken.json()) == (200, {"bytes": size})  # type: ignore[attr-defined]  # the test client's
    signed = download(known, size)
    assert (signed.status_code, len(signed.content)) == (200, size)
    assert signed["Cache-Control"] == "no-store"
    for reply in (taken, signed):
        assert abs(float(reply[SERVER_TIME_HEADER]) - clock.now().timestamp()) < 5


def test_what_comes_down_cannot_be_compressed(known: Agent) -> None:
    content = download(known, 65_536).content
    assert len(set(content)) == 256


@pytest.mark.parametrize("way", [lambda agent: upload(agent, b"x", {}), lambda agent: download(agent, 1, {})])
def test_unsigned(known: Agent, way: Callable[[Agent], HttpResponse]) -> None:
    assert code_of(way(known)) == (401, "unsigned")
    assert audited() == [("", "unsigned")]


def test_signed_for_something_else(known: Agent) -> None:
    assert code_of(upload(known, b"xy", headers(known, "POST", SPEED_PATH, b"x"))) == (401, "forged")
    assert code_of(download(known, 9, headers(known, "GET", f"{SPEED_PATH}/8"))) == (401, "forged")
    assert code_of(upload(known, b"x", headers(known, "POST", SYNC, b"x"))) == (401, "forged")


def test_a_sync_cannot_be_moved_here_nor_back(known: Agent) -> None:
    body = encode_body(report())
    assert code_of(post(known.client, SYNC, body, headers(known, "POST", SPEED_PATH, body))) == (401, "forged")


def test_replayed(known: Agent) -> None:
    signed = headers(known, "POST", SPEED_PATH, b"x")
    assert upload(known, b"x", signed).status_code == 200
    assert code_of(upload(known, b"x", signed)) == (409, "replayed")
    assert audited() == [(known.host_id, "replayed")]


def test_too_large(known: Agent) -> None:
    body = b"x" * (LARGEST_BYTES + 1)
    assert code_of(upload(known, body)) == (413, "too_large")
    assert code_of(download(known, LARGEST_BYTES + 1)) == (413, "too_large")
    assert AgentIdentity.objects.get().speed_count == 0, "refused before anything is counted"


def test_a_download_takes_no_body(known: Agent) -> None:
    path = f"{SPEED_PATH}/1"
    reply: Any = known.client.generic("GET", path, b"x", headers=headers(known, "GET", path, b"x"))
    assert code_of(reply) == (413, "too_large")


def test_so_many_and_no_more(known: Agent) -> None:
    with time_machine.travel(clock.now(), tick=False) as now:
        for _ in range(SPEED_REQUESTS_PER_WINDOW):
            assert download(known, 1).status_code == 200
        refused = download(known, 1)
        assert code_of(refused) == (429, "too_many_speed_tests")
        assert int(refused["Retry-After"]) == SPEED_WINDOW.seconds
        now.shift(SPEED_WINDOW + timedelta(seconds=1))
        identity = AgentIdentity.objects.get()
        AgentIdentity.objects.update(speed_since=identity.speed_since)
        assert download(known, 1).status_code == 200
        assert AgentIdentity.objects.get().speed_count == 1


def test_speed_tests_and_syncs_count_apart(known: Agent) -> None:
    """They run side by side, so either may arrive second with the lower number."""
    early_sync = encode_body(report())
    sync_headers = known.headers(early_sync)
    early_speed = headers(known, "POST", SPEED_PATH, b"x")
    assert download(known, 1).status_code == 200
    assert post(known.client, SYNC, early_sync, sync_headers).status_code == 200
    known.sync()
    late = upload(known, b"x", early_speed)
    assert code_of(late) == (409, "replayed"), "but among themselves speed tests are in order"


def test_only_the_present_boot_may(known: Agent) -> None:
    clone = known.clone()
    assert code_of(download(clone, 1)) == (409, "superseded"), "a boot that has never synced takes over nothing"
    clone.sync()
    assert code_of(download(known, 1)) == (409, "superseded")
    assert download(clone, 1).status_code == 200


def test_revoked(known: Agent) -> None:
    revoke_agent(host_id=known.host, actor="staff")
    assert code_of(download(known, 1)) == (401, "revoked")


@pytest.mark.parametrize(("method", "path", "allowed"), [("get", SPEED_PATH, "POST"), ("post", f"{SPEED_PATH}/1", "GET")])
def test_the_other_method(client: Client, method: str, path: str, allowed: str) -> None:
    reply = getattr(client, method)(path)
    assert code_of(reply) == (405, "method_not_allowed")
    assert reply["Allow"] == allowed


@pytest.mark.parametrize("path", [f"{SPEED_PATH}/-1", f"{SPEED_PATH}/many", f"{SPEED_PATH}/1/2"])
def test_no_such_address(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_leave_to_be_dialled_names_the_host_s_own_address_and_ports(agent: Agent) -> None:
    reply = post(agent.client, ASK_PATH, b"", agent.headers(b"", path=ASK_PATH))
    assert reply.status_code == 409, "a boot that has not synced yet"
    agent.sync()
    reply = post(agent.client, ASK_PATH, b"", agent.headers(b"", path=ASK_PATH))
    assert reply.status_code == 200
    leave = json.loads(reply.content)
    assert leave["url"].endswith(DIAL_PATH)
    ticket = read_ticket(settings.RELAY_SECRET, leave["ticket"], now=time.time())
    assert parse_target(ticket.topic) == PortCheckTarget(agent.host_id, "127.0.0.1", 40_000, 40_999)
    assert code_of(post(agent.client, ASK_PATH, b"")) == (401, "unsigned")
