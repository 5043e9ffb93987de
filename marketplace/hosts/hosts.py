"""Life cycle of a host: enrolment, facts, reports, freeze, retirement.

A transition writes an event and opens or closes offers.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection

from common import change_counters, clock
from common.addresses import parse_address
from common.db.prepared import run
from common.db.transactions import use_case
from common.encryption import secret_digest
from common.errors import IllegalTransition, NotFound
from common.ids import public_id
from common.messages.message import English, Message, Name, Parts
from common.messages.rendering import columns
from common.printable import cut_printable
from common.transitions import move
from marketplace.constants import ENGINE_SLOW_AFTER_S
from marketplace.errors import GpuClaimed, HostInUse, JoinTokenRefused
from marketplace.host_messages import ByStaff, GpuCount, ReportsAgain, WasBefore
from marketplace.hosts.incidents import close_incident, incident_is_open, open_incident
from marketplace.hosts.inventory import ReportedGpu, ReportedHost, check_facts, claimed_elsewhere, host_columns, record_gpus
from marketplace.hosts.measurements import record_measurements
from marketplace.incident_messages import GpuClaimedTwice
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, HostEvent, JoinToken, Lease
from marketplace.reliability.events import close_outage
from marketplace.reliability.verification import close_until_tested, update_verification
from marketplace.states import HOST_MACHINE, HostState, Verification

__all__ = [
    "ReportedGpu",
    "ReportedHost",
    "enrol_host",
    "freeze_host",
    "lock_host",
    "record_event",
    "record_facts",
    "record_refused_parts",
    "record_report",
    "record_transition",
    "retire_host",
    "unfreeze_host",
]

AGENT = "agent"
REFUSED = "report_refused_in_part"
BY_STAFF = "by staff"
_REFUSED_SHOWN = 20

_SEEN = """
UPDATE marketplace_host
   SET last_seen_at = greatest(last_seen_at, %(last_seen_at)s), engine_age_s = %(engine_age_s)s,
       agent_version = %(agent_version)s
 WHERE id = %(host)s AND state = 'online' AND (engine_age_s >= %(slow_after)s) = %(slow)s
"""


def enrol_host(*, token: str, shape: ReportedHost, agent_version: str) -> Host:
    """Create a host for the owner of this join token.

    The token is spent only when everything is valid.
    """
    check_facts(shape)
    with use_case():
        join_token = _lock_join_token(token)
        known = _revoked_host_with(join_token.owner_id, shape)
        if known is not None:
            return _reenrol(known, join_token, shape, agent_version)
        host = Host(owner_id=join_token.owner_id, name=join_token.host_name, region=join_token.region, **host_columns(shape))
        if not shape.behind_nat:
            host.address = host.address or parse_address(shape.hostname)
        host.agent_version = cut_printable(agent_version, 20)
        host.save(force_insert=True)
        for uuid in claimed_elsewhere(host, shape.gpus):
            raise GpuClaimed(f"The GPU {uuid} belongs to another host. Retire that host first.", gpu_uuid=uuid)
        try:
            record_gpus(host=host, gpus=shape.gpus, first_price_micros=join_token.price_micros)
        except IntegrityError as error:
            raise GpuClaimed("Another host registered one of these GPUs at the same time.") from error
        _spend(join_token, host, shape, kind="enrolled")
    return host


def _spend(join_token: JoinToken, host: Host, shape: ReportedHost, *, kind: str) -> None:
    join_token.used_at, join_token.used_by = clock.now(), host
    join_token.save(update_fields=["used_at", "used_by"])
    record_event(host_id=host.pk, kind=kind, detail=GpuCount(count=len(shape.gpus)), actor=AGENT)
    change_counters.notify_change(f"user:{join_token.owner_id.hex}")


def _revoked_host_with(owner_id: UUID, shape: ReportedHost) -> Host | None:
    """Return this owner's host with these GPUs whose agent key was revoked, locked."""
    uuids = [gpu.uuid for gpu in shape.gpus]
    revoked = Host.objects.filter(owner_id=owner_id, agent_revoked_at__isnull=False).exclude(state=HostState.RETIRED)
    found = revoked.filter(gpus__uuid__in=uuids).order_by("pk").values_list("pk", flat=True).distinct()[:2]
    return lock_host(found[0]) if len(found) == 1 else None


def _reenrol(host: Host, join_token: JoinToken, shape: ReportedHost, agent_version: str) -> Host:
    """Enrol the same host under a new key: its name, prices, leases and history stay.

    Its first report brings it online.
    """
    assert host.agent_revoked_at is not None  # as `_revoked_host_with` has found it
    change_counters.revoke_tickets(f"host:{host.pk.hex}", at=host.agent_revoked_at, over=True)
    columns = {**host_columns(shape), "agent_version": cut_printable(agent_version, 20), "agent_revoked_at": None}
    for name, value in columns.items():
        setattr(host, name, value)
    host.save(update_fields=list(columns))
    for uuid in claimed_elsewhere(host, shape.gpus):
        raise GpuClaimed(f"The GPU {uuid} belongs to another host. Retire that host first.", gpu_uuid=uuid)
    record_gpus(host=host, gpus=shape.gpus, first_price_micros=join_token.price_micros)
    _spend(join_token, host, shape, kind="enrolled_anew")
    return host


def _lock_join_token(token: str) -> JoinToken:
    """Return the unspent token with this secret, locked.

    Of two agents with one token, the second waits and is then refused.
    """
    digest = secret_digest(token)
    rows = JoinToken.objects.select_for_update(of=("self",), no_key=True)
    join_token = rows.filter(secret_hash=digest).order_by("pk").first()
    if join_token is None:
        raise JoinTokenRefused("Unknown join token.")
    if join_token.used_at is not None:
        raise JoinTokenRefused("This join token was already used; create a new one for each host.")
    if join_token.expires_at <= clock.now():
        raise JoinTokenRefused("This join token has expired; create a new one.")
    return join_token


def record_facts(*, host_id: UUID, shape: ReportedHost) -> None:
    """Record what the host has now.

    A GPU that another host owns is left out and becomes an incident (fault 90).
    """
    check_facts(shape)
    with use_case():
        host = lock_host(host_id)
        columns = host_columns(shape)
        changed = {name: value for name, value in columns.items() if getattr(host, name) != value}
        if changed.keys() & {"address", "port_first", "port_last"}:
            changed["udp_reached"] = None  # it was tried elsewhere
        was = host.driver
        for name, value in changed.items():
            setattr(host, name, value)
        if changed:
            host.save(update_fields=list(changed))
        record_measurements(host=host, shape=shape)
        claimed = claimed_elsewhere(host, shape.gpus)
        for uuid, other in claimed.items():
            detail = GpuClaimedTwice(host=public_id("host", host.pk), owner=public_id("host", UUID(str(other))))
            open_incident(kind="gpu_claimed", subject=uuid, detail=detail)
        own = [gpu for gpu in shape.gpus if gpu.uuid not in claimed]
        record_gpus(host=host, gpus=own, first_price_micros=0)
        if host.verification != Verification.UNVERIFIED:  # a host that was never verified needs a self-test first
            if was and host.driver and was != host.driver and not host.awaits_test:
                close_until_tested(host=host, was=was, actor=AGENT)
            update_verification(host=host, now=clock.now(), actor=AGENT)


def record_report(*, host_id: UUID, at: datetime, engine_age_s: float, agent_version: str) -> bool:
    """Record that the host has reported; a silent one is online again and its offers are open.

    Returns False when its agent's key was revoked meanwhile, or the host written off: then nothing of the report
    counts. The normal case is one UPDATE without a lock or a read: it happens for every host every few seconds.
    """
    slow = engine_age_s >= ENGINE_SLOW_AFTER_S
    seen: dict[str, Any] = {
        "last_seen_at": at,
        "engine_age_s": engine_age_s,
        "agent_version": cut_printable(agent_version, 20),
    }
    with connection.cursor() as cursor:
        shown = {**seen, "host": host_id, "slow": slow, "slow_after": ENGINE_SLOW_AFTER_S}
        run(cursor, _SEEN, shown, before_the_disk=True)  # what a crash loses, the next report writes again
        if cursor.rowcount:
            return True
    with use_case():
        host = lock_host(host_id)
        was_slow, seen["last_seen_at"] = host.engine_age_s >= ENGINE_SLOW_AFTER_S, max(host.last_seen_at, at)
        if host.agent_revoked_at is not None:
            return False
        if host.state == HostState.SILENT:
            close_outage(host_id=host_id, at=at)
            _move_host(host, HostState.ONLINE, reason="", detail=ReportsAgain(), actor=AGENT, **seen)
        else:
            Host.objects.filter(pk=host_id).update(**seen)
        if slow != was_slow:
            record_event(host_id=host_id, kind="engine_slow" if slow else "engine_answers", actor=AGENT)
        refresh_offers_of_host(host_id=host_id)
    return True


def freeze_host(*, host_id: UUID, reason: str, actor: str, detail: Message | None = None) -> None:
    """Stop everything except reports: the agent does nothing, and nothing new is leased; leases stay."""
    with use_case():
        host = lock_host(host_id)
        if host.state == HostState.FROZEN:
            return
        close_outage(host_id=host_id, at=clock.now())  # from now on it is silent by order
        _move_host(host, HostState.FROZEN, reason=reason, detail=detail, actor=actor)


def unfreeze_host(*, host_id: UUID, reason: str, actor: str) -> None:
    with use_case():
        host = lock_host(host_id)
        if host.agent_revoked_at is not None:
            raise IllegalTransition("The agent's key was revoked: add the host again first.", state=host.state)
        _move_host(host, HostState.ONLINE, reason=reason, actor=actor)
        # A second agent that still runs freezes the host again, with a new incident.
        close_incident(kind="two_agents", subject=public_id("host", host_id), closed_by="unfrozen")


def retire_host(*, host_id: UUID, reason: str, actor: str) -> None:
    """Take the host off the market for good; its GPUs may then be enrolled again.

    Raises:
        HostInUse: GPUs of the host are leased (D2).
    """
    with use_case():
        host = lock_host(host_id)
        if Lease.objects.filter(gpu__host=host, released_at__isnull=True).exists():
            raise HostInUse("GPUs of this host are leased. Pause new rentals and wait until the rentals have ended.")
        close_outage(host_id=host_id, at=clock.now())
        _move_host(host, HostState.RETIRED, reason=reason, actor=actor)


def record_refused_parts(*, host_id: UUID, parts: Sequence[str]) -> None:
    """Record refused parts of a report, as an incident for staff and an event for the owner.

    This happens once while the incident is open.
    """
    subject = public_id("host", host_id)
    if incident_is_open(kind=REFUSED, subject=subject):
        return
    with use_case():
        refused_parts = tuple(Name(name=part) for part in parts[:_REFUSED_SHOWN])
        open_incident(kind=REFUSED, subject=subject, detail=Parts(parts=refused_parts))
        record_event(host_id=host_id, kind=REFUSED, detail=refused_parts[0], actor=AGENT)


def lock_host(host_id: UUID) -> Host:
    """Lock the host's row and return it as it is after the wait.

    Raises:
        NotFound: there is no such host.
    """
    host = Host.objects.select_for_update(of=("self",), no_key=True).filter(pk=host_id).order_by("pk").first()
    if host is None:
        raise NotFound("This host doesn't exist.")
    return host


def record_event(*, host_id: UUID, kind: str, detail: Message | None = None, actor: str) -> None:
    HostEvent.objects.create(host_id=host_id, kind=kind, actor=actor[:80], **columns("detail", detail))


def record_transition(
    host: Host, origin: str, target: str, *, reason: str, actor: str, detail: Message | None = None
) -> None:
    """Record the event of a state change, for `common.transitions.move`."""
    why = English(sentence=reason) if reason else WasBefore(state=HostState(origin))
    reason_params = ByStaff() if reason == BY_STAFF else why
    record_event(host_id=host.pk, kind=str(target), detail=detail or reason_params, actor=actor)


def _move_host(
    host: Host, target: HostState, *, reason: str, actor: str, detail: Message | None = None, **fields: object
) -> None:
    record = partial(record_transition, detail=detail)
    move(host, target, machine=HOST_MACHINE, record=record, reason=reason, actor=actor, **fields)
    refresh_offers_of_host(host_id=host.pk)
    change_counters.notify_change(f"host:{host.pk.hex}", f"user:{host.owner_id.hex}")
