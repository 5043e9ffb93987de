"""The signed sync: what is taken in, and what the agent is told."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg2
import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from agents.gateway.models import AgentIdentity
from agents.protocol.codec import decode, encode
from agents.protocol.messages import DesiredState, PrefetchImage
from agents.protocol.signing import Envelope
from agents.protocol.tickets import read_ticket
from common import clock
from common.change_counters import _notify_change_now, version_of
from instances.core.selectors import DesiredRow
from instances.transfers.selectors import desired_on_host
from marketplace.hosts.hosts import freeze_host, unfreeze_host
from marketplace.models import Host, Incident
from marketplace.states import HostState
from storage.models import Image

from .conftest import Agent, audited, code_of, facts, report

pytestmark = pytest.mark.django_db


def test_the_reply_tells_where_and_with_which_ticket_to_wait(agent: Agent) -> None:
    state = agent.sync()
    ticket = read_ticket(settings.RELAY_SECRET, state.wait_ticket, now=time.time())
    assert ticket.topic == f"host:{agent.host_id}"
    assert 590 < ticket.expires_at - time.time() <= 600
    assert state.wait_url == "http://testserver/agent/v1/wait"
    assert (state.protocol, state.instances, state.frozen) == (1, [], False)
    with override_settings(RELAY_URL="https://relay.example"):
        assert agent.sync().wait_url == "https://relay.example/agent/v1/wait"


def test_the_version_is_the_host_s_change_counter(agent: Agent) -> None:
    topic = f"host:{agent.host_id}"
    _notify_change_now((topic,))
    assert agent.sync().version == version_of(topic) > 0


def test_the_version_is_read_before_the_state(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that falls between the two reads must leave the counter above what the agent is told."""
    topic = f"host:{agent.host_id}"
    _notify_change_now((topic,))

    def change_first(host_id: UUID, **known: Any) -> list[DesiredRow]:
        _notify_change_now((topic,))
        return desired_on_host(host_id, **known)

    monkeypatch.setattr("agents.gateway.services.sync.desired_on_host", change_first)
    assert agent.sync().version == version_of(topic) - 1


def test_facts_are_asked_for_once_in_each_boot(agent: Agent) -> None:
    assert agent.sync().need_facts
    assert not agent.sync(report(facts=agent.facts)).need_facts
    assert not agent.sync().need_facts
    agent.restart()
    assert agent.sync().need_facts


def test_facts_are_written_down(agent: Agent) -> None:
    agent.sync(report(facts=facts(driver="560.35", gpus=0)))
    host = Host.objects.get(pk=agent.host)
    assert host.driver == "560.35"
    assert not host.gpus.filter(present=True).exists()


def test_impossible_facts_are_refused_alone(agent: Agent) -> None:
    state = agent.sync(report(facts=facts(cpu_cores=0), engine_age_s=3.5))
    assert not state.need_facts  # the same facts would only come again, without end
    assert Host.objects.get(pk=agent.host).engine_age_s == 3.5
    assert audited() == [(agent.host_id, "invalid_input")]


def test_a_report_is_a_sign_of_life(agent: Agent) -> None:
    Host.objects.filter(pk=agent.host).update(state=HostState.SILENT)
    later = clock.now() + timedelta(minutes=5)
    with time_machine.travel(later, tick=False):
        agent.sync()
    host = Host.objects.get(pk=agent.host)
    assert (host.state, host.last_seen_at) == (HostState.ONLINE, later)


def test_unknown_fields_of_a_newer_agent_are_ignored(agent: Agent) -> None:
    body = json.loads(encode(report())) | {"mood": "sunny", "versions": [1, 2]}
    assert agent.send(body).status_code == 200
    body["instances"] = [{"id": uuid4().hex, "generation": 1, "phase": "stopped", "colour": "blue"}]
    assert agent.send(body).status_code == 200


def test_a_frozen_host_is_told_to_stand_still(agent: Agent, stella: User) -> None:
    freeze_host(host_id=agent.host, reason="looked odd", actor="stella")
    assert agent.sync().frozen
    unfreeze_host(host_id=agent.host, reason="was fine", actor="stella")
    assert not agent.sync().frozen


def test_containers_nobody_asked_for_are_an_incident(agent: Agent) -> None:
    agent.sync(report(foreign=["berth-unknown-1"]))
    assert Incident.objects.get().kind == "foreign_container"


def test_the_incident_ends_when_the_engine_has_none_any_more(agent: Agent) -> None:
    """Not on the word of an agent whose engine does not answer: it lists nothing either."""
    agent.sync(report(foreign=["berth-unknown-1"]))
    agent.sync(report(engine_age_s=20.0))
    assert Incident.objects.get().closed_at is None
    agent.sync()
    assert Incident.objects.get().closed_by == "removed"


def test_a_quiet_sync_takes_few_queries_and_no_session_or_user(agent: Agent, alice: User) -> None:
    agent.client.force_login(alice)  # a cookie that is not ours to look at
    agent.sync(report(facts=agent.facts))
    with CaptureQueriesContext(
        connection,
    ) as seen:
        agent.sync()
    statements = [query["sql"] for query in seen.captured_queries]
    assert not [sql for sql in statements if "session" in sql or "accounts_user" in sql]
    assert len(statements) <= 8, statements


def test_the_market_s_pinned_images_are_named_with_each_report_of_facts(agent: Agent, alice: User) -> None:
    pinned = "registry.example.org/berth/torch@sha256:" + "0" * 64
    rows: dict[str, dict[str, Any]] = {
        "torch": {"size_bytes": 9},
        "closed": {"active": False},
        "kept": {"private": True},
        "bare": {},
    }
    for slug, row in rows.items():
        reference = pinned.replace("torch", slug) if slug != "bare" else "registry.example.org/berth/bare:1"
        Image.objects.create(slug=slug, title=slug, reference=reference, **row)
    mine = pinned.replace("torch", "mine")
    Image.objects.create(slug="mine", title="mine", reference=mine, source="named", official=False, owner=alice)
    assert agent.sync(report(facts=agent.facts)).images == [PrefetchImage(pinned, 9)]
    assert agent.sync().images is None


def test_a_golden_signature_is_accepted_byte_for_byte() -> None:
    """The signing input is frozen: an agent in the field signs just so."""
    golden = Path(__file__).with_name("golden_signing_input.txt").read_bytes()
    envelope = Envelope("0190a0b0c0d0e0f0a1b2c3d4e5f60718", "boot-1", 42)
    assert envelope.signing_input("POST", "/agent/v1/sync", b'{"agent_version":"0.1.0"}') + b"\n" == golden


def test_syncs_of_two_hosts_do_not_touch_each_other(enrolled: Callable[[], Agent]) -> None:
    one, two = enrolled(), enrolled()
    for _ in range(3):
        one.sync()
        two.sync()
    counts = AgentIdentity.objects.values_list("host_id", "last_sequence")
    assert dict(counts) == {one.host: 3, two.host: 3}


def test_a_second_sync_at_the_same_time_is_told_to_come_back(agent: Agent) -> None:
    parameters = connection.get_connection_params()
    other = psycopg2.connect(**{key: value for key, value in parameters.items() if key not in ("cursor_factory", "context")})
    try:
        with other.cursor() as cursor:
            key = int.from_bytes(agent.host.bytes[-8:], signed=True)
            cursor.execute("SELECT pg_advisory_lock(%s)", [key])
            reply = agent.send()
            cursor.execute(
                "SELECT pg_advisory_unlock(%s)", [key]
            )  # the server ends a closed connection's session in its own time
        assert (reply.status_code, reply["Retry-After"], json.loads(reply.content)["code"]) == (503, "1", "busy")
    finally:
        other.close()
    assert agent.send().status_code == 200
    assert audited() == []


def test_fault_021_an_agent_of_another_version_is_served_or_told(agent: Agent) -> None:
    """Through the door: more than is known is heard all the same, less is its default, and no common version is said."""
    plain = json.loads(encode(report(facts=agent.facts)))
    newer = {**plain, "versions": [1, 7], "weather": {"wind": [1]}, "facts": {**plain["facts"], "liquid_cooled": True}}
    reply = agent.send(newer)
    assert (reply.status_code, decode(DesiredState, reply.content).protocol) == (200, 1)
    older = {name: plain[name] for name in ("agent_version", "versions", "facts")}
    assert agent.send(older).status_code == 200
    assert code_of(agent.send({**plain, "versions": [7]}))[0] == 426
    assert agent.send({name: value for name, value in plain.items() if name != "versions"}).status_code == 400
