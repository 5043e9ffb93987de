"""Revocation of a host agent's key, by its owner or staff: the agent is then refused everywhere."""

from functools import partial
from uuid import UUID

from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import NotFound
from common.transitions import move
from marketplace.host_messages import KeyRevoked
from marketplace.hosts.hosts import lock_host, record_event, record_transition
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host
from marketplace.reliability.events import open_outage
from marketplace.states import HOST_MACHINE, HostState

REVOKED = "agent_revoked"


def revoke_own_agent(*, actor_id: UUID, host_id: UUID) -> None:
    """Revoke the agent's key of an own host.

    Raises:
        NotFound: the host is not theirs.
    """
    if not Host.objects.filter(pk=host_id, owner_id=actor_id).exists():
        raise NotFound("This host doesn't exist.")
    revoke_agent(host_id=host_id, actor=f"user:{actor_id.hex}")


def revoke_agent(*, host_id: UUID, actor: str) -> None:
    """Revoke the agent's present key; repeating it does nothing.

    The host counts as silent: nothing new is rented there, containers stay as they are, and their use is not
    proven, so nobody pays for it. The host continues when its owner enrols it with a new key.
    """
    with use_case():
        host, now = lock_host(host_id), clock.now()
        if host.agent_revoked_at is not None:
            return
        revoked = {"agent_revoked_at": now, "agent_keys": host.agent_keys + 1}
        if host.state == HostState.ONLINE:
            record = partial(record_transition, detail=KeyRevoked())
            move(host, HostState.SILENT, machine=HOST_MACHINE, record=record, reason="", actor=actor, **revoked)
            open_outage(host_id=host_id, at=now)
        else:
            Host.objects.filter(pk=host_id).update(**revoked)
        record_event(host_id=host_id, kind=REVOKED, actor=actor)
        refresh_offers_of_host(host_id=host_id)
        change_counters.revoke_tickets(f"host:{host_id.hex}", at=now)
        change_counters.notify_change(f"host:{host_id.hex}", f"user:{host.owner_id.hex}")
