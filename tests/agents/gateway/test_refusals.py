"""What the gateway refuses, and that each refusal leaves a row in the audit."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection
from django.http import HttpResponse
from django.test import Client, override_settings

from agents.gateway.constants import MAX_BODY_BYTES, STRANGERS_PER_WINDOW
from agents.gateway.models import AgentIdentity, RefusedMessage, SupersededBoot
from agents.protocol.codec import encode
from agents.protocol.messages import ObservedInstance
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER
from common import clock
from common.printable import is_printable
from marketplace.hosts.agent_keys import revoke_agent
from marketplace.hosts.hosts import unfreeze_host
from marketplace.models import Host, Incident
from marketplace.states import HostState

from .conftest import SYNC, Agent, audited, code_of, post, report

pytestmark = pytest.mark.django_db
BODY = encode(report())


def state_of(agent: Agent) -> str:
    return Host.objects.values_list("state", flat=True).get(pk=agent.host)


# -- who may speak


@pytest.mark.parametrize("header", [HOST_HEADER, BOOT_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER])
def test_each_header_is_needed(agent: Agent, client: Client, header: str) -> None:
    headers = agent.headers(BODY)
    del headers[header]
    reply = post(client, SYNC, BODY, headers)
    assert code_of(reply) == (401, "unsigned")
    assert reply["WWW-Authenticate"] == "Berth-Signature"
    assert audited() == [("" if header == HOST_HEADER else agent.host_id, "unsigned")]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (HOST_HEADER, "0190A0B0C0D0E0F0A1B2C3D4E5F60718"),
        (HOST_HEADER, "host_1"),
        (BOOT_HEADER, "x" * 41),
        (BOOT_HEADER, "a b"),
        (SEQUENCE_HEADER, "0"),
        (SEQUENCE_HEADER, "-1"),
        (SEQUENCE_HEADER, "1e3"),
        (SEQUENCE_HEADER, "9" * 19),
        (SIGNATURE_HEADER, "ab"),
        (SIGNATURE_HEADER, "AB" * 64),
    ],
)
def test_a_malformed_header_is_as_good_as_none(agent: Agent, client: Client, header: str, value: str) -> None:
    reply = post(client, SYNC, BODY, agent.headers(BODY) | {header: value})
    assert code_of(reply) == (401, "unsigned")
    assert len(audited()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {SEQUENCE_HEADER: "99"},
        {BOOT_HEADER: "another"},
        {SIGNATURE_HEADER: "00" * 64},
    ],
    ids=["sequence", "boot", "signature"],
)
def test_a_changed_envelope_is_a_forgery(agent: Agent, client: Client, change: dict[str, str]) -> None:
    assert code_of(post(client, SYNC, BODY, agent.headers(BODY) | change)) == (401, "forged")
    assert audited() == [(agent.host_id, "forged")]
    assert AgentIdentity.objects.get().last_sequence == 0


def test_a_changed_body_is_a_forgery(agent: Agent, client: Client) -> None:
    assert code_of(post(client, SYNC, BODY + b" ", agent.headers(BODY))) == (401, "forged")


def test_a_signature_for_another_address_is_a_forgery(agent: Agent, client: Client) -> None:
    assert code_of(post(client, SYNC, BODY, agent.headers(BODY, path="/agent/v1/enrol"))) == (401, "forged")


def test_one_host_can_not_speak_for_another(enrolled: Callable[[], Agent], client: Client) -> None:
    one, two = enrolled(), enrolled()
    moved = one.headers(BODY) | {HOST_HEADER: two.host_id}
    assert code_of(post(client, SYNC, BODY, moved)) == (401, "forged")
    one.host_id = two.host_id  # its own key over the other's name
    assert code_of(one.send()) == (401, "forged")
    assert two.sync().protocol == 1


def test_a_stranger_s_key_is_a_forgery(agent: Agent) -> None:
    agent.key = Ed25519PrivateKey.generate()
    assert code_of(agent.send()) == (401, "forged")


def test_an_unknown_host_is_refused(client: Client) -> None:
    unknown_agent = Agent(client, host_id=uuid4().hex)
    assert code_of(unknown_agent.send()) == (401, "unknown_host")
    assert audited() == [(unknown_agent.host_id, "unknown_host")]


def test_a_revoked_agent_is_refused(agent: Agent) -> None:
    agent.sync()
    revoke_agent(host_id=agent.host, actor="staff")
    assert code_of(agent.send()) == (401, "revoked")
    assert audited() == [(agent.host_id, "revoked")]


# -- what was said before


def test_the_same_message_twice_is_a_replay(agent: Agent, client: Client) -> None:
    headers = agent.headers(BODY)
    assert post(client, SYNC, BODY, headers).status_code == 200
    assert code_of(post(client, SYNC, BODY, headers)) == (409, "replayed")
    assert audited() == [(agent.host_id, "replayed")]
    assert state_of(agent) == HostState.ONLINE


def test_a_message_that_was_overtaken_is_not_taken(agent: Agent, client: Client) -> None:
    late = agent.headers(BODY)
    agent.sync()
    assert code_of(post(client, SYNC, BODY, late)) == (409, "replayed")


def test_a_sequence_may_have_gaps(agent: Agent) -> None:
    agent.sequence = 10**9
    agent.sync()
    assert AgentIdentity.objects.get().last_sequence == 10**9 + 1


@pytest.mark.parametrize("restarts", [0, 1, 3])
def test_fault_091_yesterday_s_report_is_a_replay_after_any_number_of_starts(
    agent: Agent, client: Client, restarts: int
) -> None:
    """Fault 91. The proof must not age: an old boot never looks like a new one, and its replay freezes nobody."""
    yesterday = clock.now() - timedelta(days=1)
    with time_machine.travel(yesterday, tick=False):
        old = agent.headers(BODY)
        assert post(client, SYNC, BODY, old).status_code == 200
    for _ in range(restarts):
        agent.restart()
        agent.sync()
    agent.sync()
    seen_at = Host.objects.get(pk=agent.host).last_seen_at
    assert code_of(post(client, SYNC, BODY, old)) == (409, "replayed")
    assert state_of(agent) == HostState.ONLINE
    assert Host.objects.get(pk=agent.host).last_seen_at == seen_at
    agent.sync()


def test_a_restarted_agent_is_taken_on(agent: Agent) -> None:
    agent.sync()
    before = agent.boot_id
    agent.restart()
    agent.sync()
    past = SupersededBoot.objects.get()
    assert (past.boot_id, past.last_sequence) == (before, 1)
    assert AgentIdentity.objects.get().boot_id == agent.boot_id
    assert audited() == []


def test_fault_020_two_agents_with_one_identity_freeze_the_host(agent: Agent) -> None:
    """Fault 20: the disk was cloned. The second start is taken for a restart, until the first speaks again."""
    agent.sync()
    clone = agent.clone()
    assert not clone.sync().frozen
    assert code_of(agent.send()) == (409, "two_agents")
    assert state_of(agent) == HostState.FROZEN
    assert audited() == [(agent.host_id, "two_agents")]
    assert clone.sync().frozen


def test_a_thawed_host_freezes_again_only_when_the_second_agent_goes_on(agent: Agent, client: Client) -> None:
    agent.sync()
    clone = agent.clone()
    clone.sync()
    message = agent.headers(BODY)
    post(client, SYNC, BODY, message)
    unfreeze_host(host_id=agent.host, reason="removed the copy", actor="stella")
    assert code_of(post(client, SYNC, BODY, message)) == (409, "replayed")  # a copy of what froze it does not do so again
    assert not clone.sync().frozen
    assert code_of(agent.send()) == (409, "two_agents")
    assert clone.sync().frozen


def test_fault_020_the_agent_that_stays_is_restarted_before_the_host_is_unfrozen(agent: Agent) -> None:
    """The copy made its start an earlier one: unfrozen without a restart, it would freeze the host again at once."""
    agent.sync()
    agent.clone().sync()
    assert code_of(agent.send()) == (409, "two_agents")
    assert "Restart the remaining agent" in Incident.objects.get(kind="two_agents").detail
    unfreeze_host(host_id=agent.host, reason="ended the copy", actor="stella")
    assert not Incident.objects.filter(kind="two_agents", closed_at=None).exists()
    assert code_of(agent.send()) == (409, "two_agents")
    assert Incident.objects.filter(kind="two_agents", closed_at=None).exists(), "it was not over"
    agent.restart()
    assert agent.sync().frozen
    unfreeze_host(host_id=agent.host, reason="as the incident says", actor="stella")
    assert not agent.sync().frozen
    assert state_of(agent) == HostState.ONLINE
    assert not Incident.objects.filter(kind="two_agents", closed_at=None).exists()


def test_a_message_received_before_the_restart_came_in_is_only_late(
    agent: Agent, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent killed while its last sync waited here: that one must not count as a second agent."""
    agent.sync()
    received_at = clock.now()
    late = agent.headers(BODY)
    agent.restart()
    agent.sync()
    monkeypatch.setattr("agents.gateway.views.clock.now", lambda: received_at)
    reply = post(client, SYNC, BODY, late)
    assert code_of(reply) == (409, "superseded")
    assert state_of(agent) == HostState.ONLINE
    assert audited() == [(agent.host_id, "superseded")]


# -- what is said


def test_an_instance_of_another_host_is_refused_and_the_rest_is_taken(agent: Agent) -> None:
    """Fault 89."""
    foreign, absent = uuid4().hex, uuid4().hex
    row = ObservedInstance(id=foreign, generation=1, phase="running")
    state = agent.sync(report(instances=[row], absent=[absent], engine_age_s=7.5))
    assert state.instances == []
    assert Host.objects.get(pk=agent.host).engine_age_s == 7.5
    refused = RefusedMessage.objects.values_list("claimed_host", "reason", "detail")
    assert set(refused) == {(agent.host_id, "foreign_instance", name) for name in (foreign, absent)}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"agent_version": 1.0, "versions": "1"}, "Report.versions"),
        ({"versions": {}}, "Report.versions"),
        ({"instances": 5, "versions": None}, "Report.versions"),
    ],
)
def test_a_report_that_says_no_version_names_its_field(agent: Agent, change: dict[str, Any], field: str) -> None:
    reply = agent.send(json.loads(BODY) | change)
    assert code_of(reply) == (400, "malformed")
    assert json.loads(reply.content)["errors"][0]["field"] == field
    assert audited() == [(agent.host_id, "malformed")]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_report_at_all_is_malformed(agent: Agent, body: bytes) -> None:
    assert code_of(agent.send(body)) == (400, "malformed")


def test_a_report_of_an_unknown_version_is_refused(agent: Agent) -> None:
    assert code_of(agent.send(report(versions=[9]))) == (426, "version_mismatch")
    assert audited() == [(agent.host_id, "version_mismatch")]


def test_a_message_above_two_mebibytes_is_refused(agent: Agent) -> None:
    room = MAX_BODY_BYTES - len(BODY)
    assert agent.send(BODY + b" " * room).status_code == 200
    assert code_of(agent.send(BODY + b" " * (room + 1))) == (413, "too_large")
    assert audited() == [(agent.host_id, "too_large")]


# -- the audit itself, and the database behind it


def test_strangers_can_not_fill_the_audit(agent: Agent, client: Client) -> None:
    for _ in range(STRANGERS_PER_WINDOW + 5):
        assert post(client, SYNC, BODY, {HOST_HEADER: "\tnobody" * 40}).status_code == 401
    assert RefusedMessage.objects.count() == STRANGERS_PER_WINDOW
    agent.sync()
    agent.sequence = 0
    assert code_of(agent.send()) == (409, "replayed")
    assert audited()[-1] == (agent.host_id, "replayed")  # a signed refusal is always written down
    with time_machine.travel(clock.now() + timedelta(minutes=2), tick=False):
        post(client, SYNC, BODY)
    assert RefusedMessage.objects.count() == STRANGERS_PER_WINDOW + 2


def test_what_a_stranger_claims_to_be_is_one_printable_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Staff read it in the log by a terminal, and in the panel."""
    claimed = {HOST_HEADER: "\x9b31mred\x85\x1b]0;x\x07" + "y" * 5_000, "X-Forwarded-For": "6.6.6.6\x9b2J\x85"}
    with override_settings(TRUSTED_PROXIES=1):
        assert post(client, SYNC, BODY, claimed).status_code == 401
    row = RefusedMessage.objects.get()
    [logged] = [record.getMessage() for record in caplog.records if "refused a message" in record.getMessage()]
    for text in (row.claimed_host, row.remote_address, logged):
        assert is_printable(text)
    assert len(logged) < 300


def test_the_audit_names_the_address_that_our_own_proxy_saw(client: Client) -> None:
    forwarded = {"X-Forwarded-For": "6.6.6.6, 203.0.113.9"}
    post(client, SYNC, BODY, forwarded)
    with override_settings(TRUSTED_PROXIES=1):
        post(client, SYNC, BODY, forwarded)
        post(client, SYNC, BODY)
    addresses = RefusedMessage.objects.order_by("id").values_list("remote_address", flat=True)
    assert list(addresses) == ["127.0.0.1", "203.0.113.9", "127.0.0.1"]


def in_thread_without_database(work: Callable[[], HttpResponse], *, sabotage: Callable[[], None]) -> HttpResponse:
    """`work` on a thread of its own, hence with a database connection of its own, which `sabotage` has made unusable."""

    def run() -> HttpResponse:
        try:
            sabotage()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def point_to_nowhere() -> None:
    connection.settings_dict = {**connection.settings_dict, "HOST": "/nonexistent"}


def cut_the_connection() -> None:
    connection.ensure_connection()
    connection.connection.close()  # under Django's feet, as a restart of the database does


@pytest.mark.parametrize("sabotage", [point_to_nowhere, cut_the_connection])
def test_without_a_database_the_agent_is_told_to_come_back(agent: Agent, sabotage: Callable[[], None]) -> None:
    reply = in_thread_without_database(agent.send, sabotage=sabotage)
    assert code_of(reply) == (503, "unavailable")
    assert reply["Retry-After"] == "5"
    assert agent.send().status_code == 200


def test_a_refusal_that_can_not_be_audited_is_not_final(client: Client) -> None:
    reply = in_thread_without_database(lambda: post(client, SYNC, BODY), sabotage=point_to_nowhere)
    assert code_of(reply) == (503, "unavailable")
