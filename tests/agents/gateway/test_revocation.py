"""A revoked agent is refused at every door, and its host goes on when its owner enrols it with a new key."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import IntegrityError, transaction
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import User
from accounts.tokens.services import issue_token
from agents.gateway.models import AgentIdentity
from agents.protocol.messages import ObservedInstance
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope
from agents.protocol.speed_test import SPEED_PATH
from common.errors import IllegalTransition
from common.ids import public_id
from instances.models import Instance
from marketplace.hosts.agent_keys import revoke_agent
from marketplace.hosts.hosts import freeze_host, record_report, unfreeze_host
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Host, HostEvent, Offer
from marketplace.states import HostState

from .conftest import Agent, code_of, facts, report

pytestmark = pytest.mark.django_db
Rent = Callable[[Agent], Instance]


def ask_api(user: User, host: Host) -> Any:
    token = issue_token(user=user, name="t", scopes=["hosts:read", "hosts:write"])[1]
    address = f"/api/v1/hosts/{public_id('host', host.pk)}/revoke-agent"
    return Client().post(address, {}, "application/json", headers={"authorization": f"Bearer {token}"})


def speed_test(agent: Agent, body: bytes = b"x" * 100) -> Any:
    envelope = Envelope(agent.host_id, agent.boot_id, agent.sequence + 1)
    headers = {
        HOST_HEADER: envelope.host_id,
        BOOT_HEADER: envelope.boot_id,
        SEQUENCE_HEADER: str(envelope.sequence),
        SIGNATURE_HEADER: agent.key.sign(envelope.signing_input("POST", SPEED_PATH, body)).hex(),
    }
    return agent.client.post(SPEED_PATH, body, content_type="application/octet-stream", headers=headers)


def test_the_owner_revokes_and_every_door_is_shut(
    agent: Agent,
    hana: User,
    alice: User,
    rent: Rent,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    instance = rent(agent)
    agent.sync(report(instances=[ObservedInstance(instance.pk.hex, 1, "running", instance.gpu_uuids)]))
    host = Host.objects.get(pk=agent.host)
    assert ask_api(alice, host).status_code == 404
    with django_capture_on_commit_callbacks(execute=True):
        reply = ask_api(hana, host)
    assert (reply.status_code, reply.json()["state"]) == (200, "silent")
    assert reply.json()["agent_revoked_at"] is not None
    refused = agent.send()
    assert code_of(refused) == (401, "revoked")
    assert "--new-key" in json.loads(refused.content)["detail"]
    assert code_of(speed_test(agent)) == (401, "revoked")
    agent.restart()
    assert code_of(agent.send()) == (401, "revoked")
    instance.refresh_from_db()
    assert instance.state == "running"  # as with silence: nothing is concluded from it
    assert Offer.objects.get(host=host).gpu_free == 0
    assert HostEvent.objects.get(kind="agent_revoked").actor == f"user:{hana.pk.hex}"
    kept = redis.Redis.from_url(settings.REDIS_URL).get(f"ended:host:{agent.host_id}")
    assert isinstance(kept, bytes)
    assert kept.endswith(b" 0")
    assert ask_api(hana, host).status_code == 200
    assert HostEvent.objects.filter(kind="agent_revoked").count() == 1


def test_a_new_key_takes_the_host_on(agent: Agent, rent: Rent, join_token: Callable[[], str]) -> None:
    instance = rent(agent)
    before = agent.sync()
    revoke_agent(host_id=agent.host, actor="staff")
    stolen = agent.clone()
    renewed = Agent(agent.client, facts=agent.facts)
    token = join_token()
    assert renewed.enrol(token).status_code == 201
    assert renewed.host == agent.host
    assert Host.objects.count() == AgentIdentity.objects.count() == 1
    assert renewed.enrol(token).status_code == 201  # the reply was lost: asked again it is the same
    answer = renewed.sync()
    assert [item.id for item in answer.instances] == [instance.pk.hex]
    assert answer.slip_key != before.slip_key, "slips and grants under the old key are good for nothing"
    assert Host.objects.get().state == HostState.ONLINE
    assert code_of(stolen.send()) == (401, "forged")
    assert {event.kind for event in HostEvent.objects.all()} >= {"agent_revoked", "enrolled_anew"}


def test_the_revoked_key_is_not_taken_again(agent: Agent, join_token: Callable[[], str]) -> None:
    revoke_agent(host_id=agent.host, actor="staff")
    again = Agent(agent.client, key=agent.key, facts=agent.facts)
    assert code_of(again.enrol(join_token())) == (409, "key_revoked")
    assert code_of(agent.send()) == (401, "revoked")


def test_nobody_else_takes_the_host_over(agent: Agent, bob: User) -> None:
    bob.is_host_owner = True
    bob.save(update_fields=["is_host_owner"])
    revoke_agent(host_id=agent.host, actor="staff")
    token = issue_join_token(owner=bob, host_name="rig", region="eu", price_micros=1)[1]
    assert code_of(Agent(agent.client, facts=agent.facts).enrol(token)) == (409, "gpu_claimed")
    other = Agent(agent.client, facts=facts())
    assert other.enrol(token).status_code == 201
    assert other.host != agent.host


def test_a_report_that_was_under_way_does_not_bring_it_back(agent: Agent) -> None:
    host = Host.objects.get(pk=agent.host)
    revoke_agent(host_id=agent.host, actor="staff")
    record_report(host_id=agent.host, at=host.last_seen_at, engine_age_s=0.0, agent_version="1")
    assert Host.objects.get(pk=agent.host).state == HostState.SILENT
    with pytest.raises(IntegrityError), transaction.atomic():
        Host.objects.filter(pk=agent.host).update(state=HostState.ONLINE)


def test_a_frozen_host_stays_frozen_until_it_has_a_new_key(agent: Agent) -> None:
    freeze_host(host_id=agent.host, reason="two", actor="staff")
    revoke_agent(host_id=agent.host, actor="staff")
    assert Host.objects.get(pk=agent.host).state == HostState.FROZEN
    with pytest.raises(IllegalTransition):
        unfreeze_host(host_id=agent.host, reason="x", actor="staff")


def test_staff_and_the_owner_s_page_revoke_too(agent: Agent, hana: User, stella: User) -> None:
    host = Host.objects.get(pk=agent.host)
    staff, owner = Client(), Client()
    staff.force_login(stella)
    owner.force_login(hana)
    address = f"/hosts/{public_id('host', host.pk)}/revoke-agent"
    assert address in owner.get("/hosts").content.decode()
    staff.post("/admin/marketplace/host/", {"action": "revoke", "_selected_action": [str(host.pk)]})
    assert HostEvent.objects.get(kind="agent_revoked").actor == f"staff:{stella.pk.hex}"
    page = owner.get("/hosts").content.decode()
    assert address not in page
    assert "--new-key" in page
    assert owner.post(address).status_code == 302
