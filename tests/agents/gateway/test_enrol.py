"""Enrolment: one token, one host, one identity, all or nothing."""

import dataclasses
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client, override_settings

from agents.gateway.models import AgentIdentity
from agents.protocol.codec import decode, encode
from agents.protocol.messages import EnrolReply
from common import clock
from marketplace.hosts.agent_keys import revoke_agent
from marketplace.models import Host, JoinToken

from .conftest import ENROL, Agent, audited, code_of, facts, post

IssueToken = Callable[[], str]
pytestmark = pytest.mark.django_db


@pytest.fixture
def newcomer(client: Client) -> Agent:
    return Agent(client)


def test_a_token_makes_a_host_with_an_identity(newcomer: Agent, join_token: IssueToken) -> None:
    reply = decode(EnrolReply, newcomer.enrol(join_token()).content)
    host = Host.objects.get()
    assert (reply.host_id, reply.name, reply.protocol) == (host.pk.hex, "rig", 1)
    identity = AgentIdentity.objects.get()
    assert (identity.host_id, identity.public_key, identity.boot_id) == (host.pk, newcomer.public_key, "")
    assert host.gpus.count() == 2
    assert audited() == []


def test_a_token_is_good_for_one_host(client: Client, newcomer: Agent, join_token: IssueToken) -> None:
    token = join_token()
    assert newcomer.enrol(token).status_code == 201
    assert code_of(Agent(client).enrol(token)) == (403, "join_token_refused")
    assert Host.objects.count() == AgentIdentity.objects.count() == 1
    assert audited() == [("", "join_token_refused")]


def test_the_same_request_again_gets_the_same_host(newcomer: Agent, join_token: IssueToken) -> None:
    """Its first reply may have been lost, and its GPUs would be claimed by a host that nobody runs."""
    token = join_token()
    first, second = newcomer.enrol(token), newcomer.enrol(token)
    assert first.content == second.content
    assert Host.objects.count() == 1


def test_a_revoked_identity_is_not_given_out_again(newcomer: Agent, join_token: IssueToken) -> None:
    token = join_token()
    newcomer.enrol(token)
    revoke_agent(host_id=newcomer.host, actor="staff")
    assert code_of(newcomer.enrol(token)) == (403, "join_token_refused")


def test_a_token_ends_after_a_quarter_of_an_hour(newcomer: Agent, join_token: IssueToken) -> None:
    token = join_token()
    with time_machine.travel(clock.now() + timedelta(minutes=15, seconds=1), tick=False):
        assert code_of(newcomer.enrol(token)) == (403, "join_token_refused")
    assert newcomer.enrol("join_unknown").status_code == 403
    assert audited() == [("", "join_token_refused")] * 2


def test_a_gpu_of_another_host_ends_the_enrolment_and_keeps_the_token(
    client: Client, agent: Agent, join_token: IssueToken
) -> None:
    token = join_token()
    thief = Agent(client, facts=agent.facts)
    assert code_of(thief.enrol(token)) == (409, "gpu_claimed")
    assert Host.objects.count() == AgentIdentity.objects.count() == 1
    assert JoinToken.objects.filter(used_at=None).count() == 1
    thief.facts = facts()
    assert thief.enrol(token).status_code == 201


def test_a_simulated_host_is_refused_where_the_market_is_real(newcomer: Agent, join_token: IssueToken) -> None:
    with override_settings(SIMULATION_ALLOWED=False):
        assert code_of(newcomer.enrol(join_token())) == (403, "simulation_refused")
    assert Host.objects.count() == 0


def test_an_agent_of_another_age_is_told_which_versions_are_spoken(newcomer: Agent, join_token: IssueToken) -> None:
    token = join_token()
    request = dataclasses.replace(newcomer.enrolment(token), versions=[7, 8])
    reply = post(newcomer.client, ENROL, encode(request))
    assert code_of(reply) == (426, "version_mismatch")
    assert "[7, 8]" in json.loads(reply.content)["detail"]
    assert newcomer.enrol(token).status_code == 201  # the token is not spent


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"public_key": "AB" * 32}, "EnrolRequest.public_key"),
        ({"public_key": "ab"}, "EnrolRequest.public_key"),
        ({"token": 5}, "EnrolRequest.token"),
        ({"token": "\ud800"}, "EnrolRequest.token"),
        ({"facts": None}, "EnrolRequest.facts"),
        ({"facts": {}}, "EnrolRequest.facts.hostname"),
        ({"versions": True}, "EnrolRequest.versions"),
    ],
)
def test_a_malformed_request_names_its_field(newcomer: Agent, change: dict[str, Any], field: str) -> None:
    body = json.loads(encode(newcomer.enrolment("token"))) | change
    reply = post(newcomer.client, ENROL, json.dumps(body).encode())
    assert code_of(reply) == (400, "malformed")
    assert json.loads(reply.content)["errors"][0]["field"] == field


def test_facts_that_no_host_can_have_are_refused(newcomer: Agent, join_token: IssueToken) -> None:
    newcomer.facts = facts(ram_mb=2**40)
    assert newcomer.enrol(join_token()).status_code == 400
    assert Host.objects.count() == 0


def test_only_post_is_answered(client: Client) -> None:
    reply = client.get(ENROL)
    assert (reply.status_code, reply["Allow"], reply.json()["code"]) == (405, "POST", "method_not_allowed")
