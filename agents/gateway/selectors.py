"""Reads of the gateway: the key that may sign for a host, and what its agent is told."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import connection

from agents.gateway.constants import HOW_TO_GO_ON
from agents.gateway.errors import Forged, Revoked, UnknownHost
from agents.gateway.request_parsing import SignedMessage
from common.db.prepared import run
from marketplace.states import HostState

_HALTED = (HostState.FROZEN, HostState.RETIRED)
_HOST_STANDING = """
SELECT host.state, agent.facts_known, asked.id, host.address = '', host.agent_keys, host.leftovers_of::text[],
       EXISTS (SELECT FROM storage_operation work WHERE work.host_id = host.id AND work.ended_at IS NULL),
       EXISTS (SELECT FROM storage_attachment mount WHERE mount.host_id = host.id AND mount.detached_at IS NULL),
       EXISTS (SELECT FROM instances_move move
               WHERE move.ended_at IS NULL AND host.id IN (move.from_host_id, move.to_host_id))
FROM agent_gateway_agentidentity agent
JOIN marketplace_host host ON host.id = agent.host_id
LEFT JOIN marketplace_selftest asked ON asked.host_id = host.id AND asked.verdict = 'pending'
WHERE agent.host_id = %s
"""
# Plain SQL for the reason given at `_COUNT` in `services/identities.py`.
_KEY = """
SELECT agent.public_key, host.agent_revoked_at, host.last_seen_at, host.awaits_epoch,
       (SELECT coalesce(max(number), 0) FROM marketplace_epoch),
       EXISTS (SELECT FROM marketplace_gpu gpu WHERE gpu.host_id = host.id AND gpu.quarantined),
       EXISTS (SELECT FROM marketplace_incident found WHERE found.kind = 'foreign_container' AND found.closed_at IS NULL
               AND found.subject = 'host_' || replace(host.id::text, '-', ''))
FROM agent_gateway_agentidentity agent
JOIN marketplace_host host ON host.id = agent.host_id WHERE agent.host_id = %s
"""


@dataclass(frozen=True)
class Sender:
    """Host that signed a message, and what the sync needs to know of it.

    `last_seen_at` is the time of its last report; `awaits_epoch` says that the host has to agree to the market's
    epoch, `has_quarantine` that it has GPUs in quarantine,
    and `has_foreign` that an incident about unknown containers is open.
    """

    host_id: UUID
    last_seen_at: datetime
    awaits_epoch: bool
    market_epoch: int
    has_quarantine: bool
    has_foreign: bool


def authentic_sender(message: SignedMessage) -> Sender:
    """Verify the signature and return the sender, without a lock: forgeries cannot delay the true agent.

    Raises:
        UnknownHost: No agent of that host is enrolled.
        Forged: The signature does not match.
        Revoked: The identity of the agent was revoked.
    """
    host_id = UUID(hex=message.envelope.host_id)
    with connection.cursor() as cursor:
        run(cursor, _KEY, [host_id])
        row = cursor.fetchone()
    if row is None:
        raise UnknownHost()
    public_key, revoked_at, *standing = row
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(message.signature, message.signed)
    except InvalidSignature as error:
        raise Forged() from error
    if revoked_at is not None:
        raise Revoked(HOW_TO_GO_ON)
    return Sender(host_id, *standing)


@dataclass(frozen=True)
class HostStanding:
    """State of a host that decides what its agent is told.

    `frozen`: it must do nothing but report. `facts_known`: the present boot has sent its facts. `self_test`: the
    one to run. `behind_nat`: renters reach it through the relay alone. `agent_keys`: how many keys of its agent
    were revoked. `leftovers_of`: written-off hosts that had its GPUs. The rest says whether it has open operations,
    mounted volumes and transfers at all.
    """

    frozen: bool
    facts_known: bool
    self_test: UUID | None
    behind_nat: bool
    agent_keys: int
    leftovers_of: list[UUID]
    has_operations: bool
    has_mounts: bool
    has_moves: bool


def standing_of(host_id: UUID) -> HostStanding:
    with connection.cursor() as cursor:
        run(cursor, _HOST_STANDING, [host_id])
        state, facts_known, self_test, behind_nat, keys, former, *has = cursor.fetchone()
    return HostStanding(
        frozen=state in _HALTED,
        facts_known=facts_known,
        self_test=self_test,
        behind_nat=behind_nat,
        agent_keys=keys,
        leftovers_of=[UUID(each) for each in former],
        has_operations=has[0],
        has_mounts=has[1],
        has_moves=has[2],
    )
