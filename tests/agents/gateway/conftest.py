"""An agent without a daemon: a real key, real signatures, any message."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.http import HttpResponse
from django.test import Client

from accounts.models import User
from agents.gateway.models import RefusedMessage
from agents.protocol.codec import decode, encode
from agents.protocol.messages import DesiredState, EnrolReply, EnrolRequest, GpuFacts, HostFacts, Report
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope
from billing.ledger.wallets import grant_credit, open_wallet
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Offer

SYNC = "/agent/v1/sync"
ENROL = "/agent/v1/enrol"
PRICE = 2_000_000


def facts(gpus: int = 2, **changes: Any) -> HostFacts:
    return dataclasses.replace(
        HostFacts(
            hostname="rig",
            runtime="simulated",
            runtime_version="1",
            kernel="6.1",
            cpu_model="EPYC",
            cpu_cores=32,
            ram_mb=131_072,
            disk_total_gb=2_000,
            disk_free_gb=1_500,
            disk_kind="nvme",
            driver="550.54",
            cuda="12.4",
            gpus=[GpuFacts(f"GPU-{uuid4()}", "NVIDIA GeForce RTX 4090", 24_564, n, simulated=True) for n in range(gpus)],
            port_first=40_000,
            port_last=40_999,
            address="127.0.0.1",
        ),
        **changes,
    )


def report(**changes: Any) -> Report:
    return dataclasses.replace(Report(agent_version="0.1.0", versions=[1], facts=None), **changes)


@dataclass
class Agent:
    """One agent's key, boot and count. `clone()` is the same disk started a second time."""

    client: Client
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    facts: HostFacts = field(default_factory=facts)
    host_id: str = ""
    boot_id: str = field(default_factory=lambda: uuid4().hex)
    sequence: int = 0

    @property
    def public_key(self) -> str:
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @property
    def host(self) -> UUID:
        return UUID(hex=self.host_id)

    def enrolment(self, token: str) -> EnrolRequest:
        return EnrolRequest(token=token, public_key=self.public_key, agent_version="0.1.0", versions=[1], facts=self.facts)

    def enrol(self, token: str) -> HttpResponse:
        reply = post(self.client, ENROL, encode(self.enrolment(token)))
        if reply.status_code == 201:
            self.host_id = decode(EnrolReply, reply.content).host_id
        return reply

    def clone(self) -> "Agent":
        return dataclasses.replace(self, boot_id=uuid4().hex, sequence=0)

    def restart(self) -> None:
        self.boot_id, self.sequence = uuid4().hex, 0

    def headers(self, body: bytes, *, path: str = SYNC) -> dict[str, str]:
        self.sequence += 1
        envelope = Envelope(self.host_id, self.boot_id, self.sequence)
        return {
            HOST_HEADER: envelope.host_id,
            BOOT_HEADER: envelope.boot_id,
            SEQUENCE_HEADER: str(envelope.sequence),
            SIGNATURE_HEADER: self.key.sign(envelope.signing_input("POST", path, body)).hex(),
        }

    def send(self, body: bytes | Report | dict[str, Any] | None = None) -> HttpResponse:
        message = encode_body(report() if body is None else body)
        return post(self.client, SYNC, message, self.headers(message))

    def sync(self, body: bytes | Report | None = None) -> DesiredState:
        reply = self.send(body)
        assert reply.status_code == 200, reply.content
        return decode(DesiredState, reply.content)


def encode_body(body: bytes | Report | dict[str, Any]) -> bytes:
    if isinstance(body, bytes):
        return body
    return json.dumps(body).encode() if isinstance(body, dict) else encode(body)


def post(client: Client, path: str, body: bytes, headers: dict[str, str] | None = None) -> HttpResponse:
    return client.post(path, body, content_type="application/json", headers=headers or {})  # type: ignore[return-value]  # the test client's subclass


def code_of(reply: HttpResponse) -> tuple[int, str]:
    assert reply["Content-Type"] == "application/problem+json"
    problem = json.loads(reply.content)
    assert problem["status"] == reply.status_code
    return reply.status_code, problem["code"]


def audited() -> list[tuple[str, str]]:
    """Who was refused and why, oldest first."""
    return list(RefusedMessage.objects.order_by("id").values_list("claimed_host", "reason"))


@pytest.fixture
def join_token(hana: User) -> Callable[[], str]:
    return lambda: issue_join_token(owner=hana, host_name="rig", region="eu", price_micros=PRICE)[1]


@pytest.fixture
def enrolled(client: Client, join_token: Callable[[], str]) -> Callable[[], Agent]:
    def enrol() -> Agent:
        agent = Agent(client)
        reply = agent.enrol(join_token())
        assert reply.status_code == 201, reply.content
        return agent

    return enrol


@pytest.fixture
def agent(enrolled: Callable[[], Agent]) -> Agent:
    return enrolled()


@pytest.fixture
def rent(alice: User) -> Callable[..., Instance]:
    open_wallet(owner_id=alice.pk)
    grant_credit(owner_id=alice.pk, amount_micros=100 * PRICE, actor="staff", key="first", memo="welcome")

    def rent_on(agent: Agent, *, data_disk_gb: int = 0) -> Instance:
        offer = Offer.objects.get(host=agent.host)
        quote = create_quote(renter=alice, offer_id=offer.pk, image="berth-base", gpu_count=1, data_disk_gb=data_disk_gb)
        return rent_instance(renter=alice, quote_id=quote.pk, name="train", ssh_key_ids=[])

    return rent_on
