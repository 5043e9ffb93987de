"""Hosts that stopped reporting.

They are closed to new leases one by one, and not at all when many fall silent together (D6).
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from common import change_counters
from common.db.transactions import use_case
from common.messages.message import Second
from common.transitions import move
from marketplace.constants import BREAKER_WINDOW, HOST_SILENT_AFTER
from marketplace.host_messages import NoReportSince
from marketplace.hosts.hosts import record_transition
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.incident_messages import MassSilence
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host
from marketplace.reliability.events import forgive_outages, open_outage
from marketplace.reliability.silence_selectors import (
    MASS_SILENCE,
    end_of_mass_silence,
    silence_at,
    silent_without_outage,
    unfrozen_at,
)
from marketplace.states import HOST_MACHINE, HostState

SUBJECT = "hosts"
TIME_LIMIT = "time limit"


def mark_silent_hosts(*, now: datetime) -> int:
    """Mark every host without a report for HOST_SILENT_AFTER as silent; leases stay (D2).

    Returns how many hosts were marked. While the circuit breaker is open none is marked: the fault is then probably
    ours, and an incident says so. Outages that are part of it are forgiven; a host that is still silent afterwards is
    so from the breaker's end on. The breaker closes when enough hosts are back, when staff close the incident, or
    when it has been open for BREAKER_LASTS within BREAKER_DAY; the incident says which.
    """
    silence = silence_at(now)
    if silence.is_mass:
        detail = MassSilence(lost=silence.lost, watched=silence.watched, owners=silence.owners)
        open_incident(kind=MASS_SILENCE, subject=SUBJECT, detail=detail)
    if silence.breaker_open:
        forgive_outages(since=now - HOST_SILENT_AFTER - BREAKER_WINDOW)
        return 0
    close_incident(kind=MASS_SILENCE, subject=SUBJECT, closed_by=TIME_LIMIT if silence.is_mass else "")
    for host_id in silent_without_outage():
        _reopen_outage(host_id)
    late = Host.objects.filter(state=HostState.ONLINE, last_seen_at__lt=now - HOST_SILENT_AFTER)
    return sum(_mark_silent(host_id, now) for host_id in late.order_by("pk").values_list("pk", flat=True))


def _mark_silent(host_id: UUID, now: datetime) -> bool:
    """Mark one host in one short transaction.

    It is skipped when it has just reported or somebody else has locked it.
    """
    with use_case():
        rows = Host.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        late = rows.filter(pk=host_id, state=HostState.ONLINE, last_seen_at__lt=now - HOST_SILENT_AFTER)
        host = late.order_by("pk").first()
        if host is None:
            return False
        record = partial(record_transition, detail=NoReportSince(at=Second(host.last_seen_at)))
        move(host, HostState.SILENT, machine=HOST_MACHINE, record=record, reason="", actor="sweep")
        open_outage(host_id=host_id, at=_silent_since(host))
        refresh_offers_of_host(host_id=host_id)
        change_counters.notify_change(f"user:{host.owner_id.hex}")
    return True


def _reopen_outage(host_id: UUID) -> None:
    """Open an outage for a host that stayed silent after a mass silence.

    Its lock keeps a report from arriving in between.
    """
    with use_case():
        rows = Host.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        host = rows.filter(pk=host_id, state=HostState.SILENT).order_by("pk").first()
        if host is not None:
            open_outage(host_id=host_id, at=_silent_since(host))


def _silent_since(host: Host) -> datetime:
    """Return the time of its last report.

    A later end of a freeze or of a mass silence counts in its place: those are not its fault.
    """
    not_its_own = (unfrozen_at(host.pk), end_of_mass_silence())
    return max([host.last_seen_at, *(end for end in not_its_own if end is not None)])
