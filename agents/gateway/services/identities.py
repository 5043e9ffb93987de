"""Agents' identities: created at enrolment, counted by each message, replaced after a revocation."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from agents.gateway.constants import HOW_TO_GO_ON
from agents.gateway.converters import common_version, host_shape
from agents.gateway.errors import KeyRevoked, Replayed, Revoked, Superseded, UnknownHost
from agents.gateway.models import AgentIdentity, SupersededBoot
from agents.protocol.messages import EnrolReply, EnrolRequest
from agents.protocol.signing import Envelope
from common import clock
from common.db.prepared import run
from common.db.transactions import joining, use_case
from common.encryption import secret_digest
from marketplace.hosts.hosts import enrol_host, record_refused_parts

# The common case of a message in one statement, which locks the row as it compares. Plain SQL, since every host sends
# one every few seconds and composing it in Django would take three times as long as running it in the database.
_COUNT = """
UPDATE agent_gateway_agentidentity SET last_sequence = %s
WHERE host_id = %s AND boot_id = %s AND last_sequence < %s
  AND NOT EXISTS (SELECT FROM marketplace_host host WHERE host.id = host_id AND host.agent_revoked_at IS NOT NULL)
"""


def enrol_agent(*, request: EnrolRequest, refused: Sequence[str] = ()) -> EnrolReply:
    """Create a host and its agent's identity in one transaction, and return the host's id and name.

    The same request sent again gets the same reply, since the first reply may have been lost.
    """
    protocol = common_version(request.versions)
    join_hash = secret_digest(request.token)
    made = AgentIdentity.objects.filter(join_hash=join_hash, public_key=request.public_key)
    made = made.filter(host__agent_revoked_at=None)
    for host_id, name in made.values_list("host_id", "host__name"):
        return EnrolReply(host_id=host_id.hex, name=name, protocol=protocol)
    with joining():
        shape = host_shape(request.facts)
        host = enrol_host(token=request.token, shape=shape, agent_version=request.agent_version)
        _store_key(host.pk, request.public_key, join_hash)
        if refused:
            record_refused_parts(host_id=host.pk, parts=refused)
    return EnrolReply(host_id=host.pk.hex, name=host.name, protocol=protocol)


def admit_message(*, host_id: UUID, envelope: Envelope, received_at: datetime) -> bool:
    """Count a message as received, once; return False if a second agent has this identity.

    The caller then freezes the host. Locks the identity's row.

    Raises:
        Replayed: A message with this or a higher sequence number was counted before.
        Superseded: The message was received before a later start of the agent was adopted.
        Revoked: The key of the agent was revoked.
    """
    with connection.cursor() as cursor:
        # Its commit is not waited for: it reaches the disk no later than the effects of the message, which are
        # committed after it.
        counted = [envelope.sequence, host_id, envelope.boot_id, envelope.sequence]
        run(cursor, _COUNT, counted, before_the_disk=True)
        if cursor.rowcount == 1:
            return True
    with use_case():
        identity = _lock_identity(host_id)
        if envelope.boot_id == identity.boot_id:
            _count(identity, envelope)
            return True
        past = SupersededBoot.objects.filter(identity=identity, boot_id=envelope.boot_id).first()
        if past is None:
            _adopt(identity, envelope)
            return True
        late = received_at <= past.superseded_at
        _count(past, envelope)
    if late:
        raise Superseded()
    return False


def record_facts_sent(*, host_id: UUID) -> None:
    """Record that this boot has sent the facts of its host."""
    AgentIdentity.objects.filter(pk=host_id).update(facts_known=True)


def _store_key(host_id: UUID, public_key: str, join_hash: str) -> None:
    """Store the key of a new host, or the new key of a host whose last one was revoked.

    Raises:
        KeyRevoked: It is the revoked key itself.
    """
    if AgentIdentity.objects.filter(pk=host_id, public_key=public_key).exists():
        raise KeyRevoked("This key was revoked. Run enrol with --new-key.")
    SupersededBoot.objects.filter(identity=host_id).delete()  # messages under the former key must not count any more
    AgentIdentity.objects.filter(pk=host_id).delete()
    AgentIdentity.objects.create(host_id=host_id, public_key=public_key, join_hash=join_hash)


def _lock_identity(host_id: UUID) -> AgentIdentity:
    rows = AgentIdentity.objects.select_related("host").select_for_update(of=("self",), no_key=True)
    identity = rows.filter(pk=host_id).order_by("pk").first()
    if identity is None:
        raise UnknownHost()
    if identity.host.agent_revoked_at is not None:
        raise Revoked(HOW_TO_GO_ON)
    return identity


def _count(row: AgentIdentity | SupersededBoot, envelope: Envelope) -> None:
    if envelope.sequence <= row.last_sequence:
        raise Replayed(f"Sequence {envelope.sequence} of this boot is not above {row.last_sequence}.")
    row.last_sequence = envelope.sequence
    row.save(update_fields=["last_sequence"])


def _adopt(identity: AgentIdentity, envelope: Envelope) -> None:
    """Make the message's boot the present one, and keep the earlier one.

    Every earlier boot is kept: a message of it must never look like one of a new boot.
    """
    if identity.boot_id:
        SupersededBoot.objects.create(
            identity=identity,
            boot_id=identity.boot_id,
            last_sequence=identity.last_sequence,
            superseded_at=clock.now(),
        )
    identity.boot_id, identity.last_sequence, identity.facts_known = envelope.boot_id, envelope.sequence, False
    identity.speed_sequence = 0
    identity.save(update_fields=["boot_id", "last_sequence", "facts_known", "speed_sequence"])
