"""What the control plane signs for streams, read as relay and agent read it; and hosts that nobody reaches from outside."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import pytest
import time_machine
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from accounts.tokens.services import issue_token
from agents.protocol.messages import DesiredState
from agents.protocol.stream_grants import BadGrant, Grant, open_grant
from agents.protocol.tickets import BadTicket, StreamTicket, read_stream_ticket, read_ticket
from common import clock
from common.ids import public_id
from instances.core.stream_tickets import peer_ticket, stream_ticket
from instances.errors import NoPorts
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from marketplace.models import Host

from .conftest import Agent, code_of, facts, report
from .test_instances import observed

pytestmark = pytest.mark.django_db
Rent = Callable[[Agent], Instance]
RELAY_PORTS = (20_000, 20_007)


@pytest.fixture
def relay_ports(settings: Settings) -> None:
    settings.RELAY_TCP_PORTS, settings.RELAY_TCP_ADDRESS = RELAY_PORTS, "relay.example.org"


@pytest.fixture
def hidden(client: Client, join_token: Callable[[], str], relay_ports: None) -> Callable[[], Agent]:
    def enrol() -> Agent:
        agent = Agent(client, facts=facts(behind_nat=True))
        assert agent.enrol(join_token()).status_code == 201
        return agent

    return enrol


@pytest.fixture
def ask(client: Client, alice: User) -> Iterator[Callable[..., tuple[int, dict[str, str]]]]:
    _, secret = issue_token(user=alice, name="t", scopes=["instances:connect"])

    def post(instance: Instance, **body: object) -> tuple[int, dict[str, str]]:
        path = f"/api/v1/instances/{public_id('inst', instance.pk)}/streams"
        reply = client.post(path, body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"})
        return reply.status_code, reply.json()

    yield post


def now() -> float:
    return clock.now().timestamp()


def opened(settings: Settings, state: DesiredState, ticket: str) -> tuple[StreamTicket, Grant]:
    found = read_stream_ticket(settings.RELAY_SECRET, ticket, now=now())
    return found, open_grant(state.slip_key, found.grant, now=now())


def test_a_ticket_is_for_one_way_into_one_instance(
    agent: Agent,
    rent: Rent,
    ask: Callable[..., tuple[int, dict[str, str]]],
    settings: Settings,
) -> None:
    settings.RELAY_URL = "https://relay.example.org"
    instance = rent(agent)
    assert ask(instance, kind="terminal") == (409, ask(instance, kind="terminal")[1])
    assert ask(instance, kind="terminal")[1]["code"] == "not_running"
    agent.sync(report(instances=[observed(instance)]))

    status, leave = ask(instance, kind="port", port=8080)
    assert status == 201
    where, _, ticket = leave["url"].partition("?ticket=")
    assert where == "wss://relay.example.org/relay/v1/streams"
    found, grant = opened(settings, agent.sync(), ticket)
    assert found.host == agent.host_id
    assert (grant.instance, grant.kind, grant.port, grant.once) == (instance.pk.hex, "port", 8080, True)
    with time_machine.travel(clock.now() + timedelta(seconds=61)):
        with pytest.raises(BadTicket):
            read_stream_ticket(settings.RELAY_SECRET, ticket, now=now())
        with pytest.raises(BadGrant):
            open_grant(agent.sync().slip_key, found.grant, now=now())
    with pytest.raises(BadGrant, match="forged"):
        open_grant("00" * 32, found.grant, now=now())

    status, leave = ask(instance, kind="files")
    assert status == 201
    _, grant = opened(settings, agent.sync(), leave["url"].partition("?ticket=")[2])
    assert (grant.kind, grant.once, grant.path) == ("files", True, "")
    path = "/data/\u6570 'x'\n\udcff"
    status, leave = ask(instance, kind="download", path=path)
    assert status == 201
    where, _, ticket = leave["url"].partition("?ticket=")
    assert where == "https://relay.example.org/relay/v1/download"
    _, grant = opened(settings, agent.sync(), ticket)
    assert (grant.kind, grant.once) == ("read", False)
    assert unquote_to_bytes(grant.path) == os.fsencode(path)

    sessions = [ask(instance, kind="terminal", session=name)[1]["url"] for name in ("tab-0001", "tab-0001", "tab-0002")]
    first, again, other = (opened(settings, agent.sync(), url.partition("?ticket=")[2])[1] for url in sessions)
    assert (first.kind, first.session) == ("exec", again.session)
    assert first.id != again.id
    assert first.session != other.session
    wrong: list[dict[str, object]] = [
        {"kind": "port"},
        {"kind": "dance"},
        {"kind": "port", "port": 70_000},
        {"kind": "terminal", "session": "a b"},
        {"kind": "download"},
    ]
    for wrong_path in ("here", "/\0", "/\ud800", "/" + "x" * 2048, 7):
        wrong.append({"kind": "download", "path": wrong_path})
    assert [ask(instance, **body)[0] for body in wrong] == [400] * len(wrong)


def test_a_ticket_of_many_uses_and_a_pair_s(agent: Agent, rent: Rent, settings: Settings) -> None:
    instance = rent(agent)
    ticket = stream_ticket(
        instance=instance, kind="port", port=8888, lifetime=timedelta(hours=12), once=False, bonds=["t:ab"]
    )
    _, grant = opened(settings, agent.sync(), ticket)
    assert (grant.port, grant.once) == (8888, False)
    assert set(ticket) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
    pair = uuid4()
    leave = peer_ticket(pair=pair, host_id=agent.host, side="source", lifetime=timedelta(hours=1))
    read = read_ticket(settings.RELAY_SECRET, leave, now=now())
    assert read.topic == f"pair:{pair.hex}:{agent.host_id}:source"


def test_each_exchange_tells_where_to_keep_the_link(agent: Agent, settings: Settings) -> None:
    settings.RELAY_URL = "https://relay.example.org"
    state = agent.sync()
    assert state.link_url == "wss://relay.example.org/relay/v1/link"
    assert read_ticket(settings.RELAY_SECRET, state.link_ticket, now=now()).topic == f"link:{agent.host_id}"
    assert abs(state.now - now()) < 5
    assert state.tunnels == []
    Host.objects.update(state="frozen")
    assert agent.sync().link_url == ""


def test_a_host_behind_nat_needs_a_market_with_a_way_in(client: Client, join_token: Callable[[], str]) -> None:
    reply = Agent(client, facts=facts(behind_nat=True)).enrol(join_token())
    assert code_of(reply) == (403, "no_way_in")


def test_a_host_behind_nat_is_reached_at_the_relay(
    hidden: Callable[[], Agent],
    rent: Rent,
    client: Client,
    alice: User,
    settings: Settings,
) -> None:
    first, second = hidden(), hidden()
    assert Host.objects.get(pk=first.host).behind_nat
    instances = [rent(first), rent(second)]
    taken = [outside for instance in instances for _, outside in instance.ports]
    assert len(set(taken)) == len(taken), "the relay's ports are shared by all such hosts"
    assert all(RELAY_PORTS[0] <= port <= RELAY_PORTS[1] for port in taken)

    instance = instances[0]
    Instance.objects.filter(pk=instance.pk).update(allow_from=["203.0.113.0/24"])
    state = first.sync()
    assert {(tunnel.port, tunnel.relay_port) for tunnel in state.tunnels} == {(a, b) for a, b in instance.ports}
    for tunnel in state.tunnels:
        assert tunnel.instance == instance.pk.hex
        topic = read_ticket(settings.RELAY_SECRET, tunnel.ticket, now=now()).topic
        assert topic == f"tunnel:{tunnel.relay_port}:{first.host_id}"
        assert tunnel.allow == (["203.0.113.0/24"] if tunnel.port == 22 else [])

    client.force_login(alice)
    ssh = client.get(f"/api/v1/instances/{public_id('inst', instance.pk)}").json()["access"]["ssh"]
    assert (ssh["host"], ssh["port"]) == ("relay.example.org", dict(instance.ports)[22])
    first.sync(report(instances=[observed(instance)]))
    stop_instance(renter=alice, instance_id=instance.pk)
    assert first.sync().tunnels == []
    with pytest.raises(NoPorts):
        rent(hidden())
