"""Write-off of a host that does not come back: its agent is refused, and its leases may end (D2).

What else ends with it (instances, volumes, money) belongs to higher layers, which find it by the row written here.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.selectors import acts_as_staff
from common import change_counters
from common.db.transactions import use_case
from common.errors import Forbidden, wrong_field
from common.jobs import enqueue
from common.messages.message import English
from common.printable import check_printable
from common.transitions import move
from marketplace.constants import SETTLED_AGAIN_FOR, WRITE_OFF_AFTER, WRITE_OFF_REASON_CHARS
from marketplace.errors import HostStillReports
from marketplace.hosts.hosts import lock_host, record_event, record_transition
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, HostWriteOff
from marketplace.reliability.events import close_outage
from marketplace.reliability.silence_selectors import silent_hosts_in_mass_silence
from marketplace.states import HOST_MACHINE, HostState

WRITTEN_OFF: Final = "written off"
CLEARED: Final = "leftovers_removed"
_REASON_CHARS_MOST: Final = 300


def write_off_host(*, staff: User, host_id: UUID, reason: str, now: datetime) -> HostWriteOff:
    """Write off a dead host: revoke its key, retire it, and let its leases end by this decision.

    The decision is logged. The host's row is locked: of a write-off and a report that brings the host back, the first
    to commit decides. Repeating it changes nothing.

    Raises:
        Forbidden: the user is not staff.
        NotFound: there is no such host.
        InvalidInput: the reason is not valid.
        HostStillReports: the host is not dead, or is retired already.
    """
    if not acts_as_staff(staff):
        raise Forbidden("Only the market's staff write hosts off.")
    reason = reason.strip()
    _check_reason(reason)
    with use_case():
        host = lock_host(host_id)
        found = HostWriteOff.objects.filter(pk=host_id).first()
        if found is not None:
            return found
        check_dead(host, now)
        written = HostWriteOff.objects.create(
            host=host, decided_by=staff, reason=reason, last_seen_at=min(host.last_seen_at, now), at=now
        )
        actor = f"staff:{staff.pk.hex}"
        fence = {"agent_revoked_at": host.agent_revoked_at or now, "agent_keys": host.agent_keys + 1}
        close_outage(host_id=host_id, at=now)
        move(
            host, HostState.RETIRED, machine=HOST_MACHINE, record=record_transition, reason=WRITTEN_OFF, actor=actor, **fence
        )
        record_event(host_id=host_id, kind="written_off", detail=English(sentence=reason), actor=actor)
        refresh_offers_of_host(host_id=host_id)
        change_counters.revoke_tickets(f"host:{host_id.hex}", at=now)
        change_counters.notify_change(f"host:{host_id.hex}", f"user:{host.owner_id.hex}")
        enqueue("instances.settle_write_offs")
    return written


def check_dead(host: Host, now: datetime) -> None:
    """Refuse to write off a host that may come back.

    Raises:
        HostStillReports: it may come back; the error says what to do instead.
    """
    if host.state == HostState.RETIRED:
        raise HostStillReports("The host is retired already: nothing of it is left to be written off.")
    if host.agent_revoked_at is not None:
        return  # its agent cannot come back, whenever its last report was
    if now - host.last_seen_at < WRITE_OFF_AFTER:
        minutes = int(WRITE_OFF_AFTER.total_seconds()) // 60
        raise HostStillReports(
            f"The host reported at {host.last_seen_at:%H:%M:%S} UTC, less than {minutes} minutes ago. Plan maintenance, or"
            " drain and retire it, while it reports; if its agent can't be trusted, revoke its key first."
        )
    if host.pk in silent_hosts_in_mass_silence(now):
        raise HostStillReports("Many hosts are silent together, so the fault is probably ours. Close that incident first.")


def settle_write_off(*, host_id: UUID, now: datetime) -> bool:
    """Record that nothing of the host's is left, so that its GPUs may be enrolled again.

    Returns False when that was known.
    """
    return HostWriteOff.objects.filter(pk=host_id, settled_at=None).update(settled_at=now) == 1


def clear_leftovers(*, host_id: UUID, former: UUID, actor: str) -> None:
    """Record the agent's proof that nothing of the former host's instances is on this host any more."""
    with use_case():
        host = lock_host(host_id)
        if former not in host.leftovers_of:
            return
        host.leftovers_of = [each for each in host.leftovers_of if each != former]
        host.save(update_fields=["leftovers_of"])
        record_event(host_id=host_id, kind=CLEARED, actor=actor)
        refresh_offers_of_host(host_id=host_id)


def _check_reason(reason: str) -> None:
    if not WRITE_OFF_REASON_CHARS <= len(reason) <= _REASON_CHARS_MOST:
        raise wrong_field("reason", f"Say why, in {WRITE_OFF_REASON_CHARS} to {_REASON_CHARS_MOST} characters.")
    check_printable("reason", reason)


def hosts_not_retired() -> QuerySet[Host]:
    """Return hosts that could be written off, by name."""
    return Host.objects.exclude(state=HostState.RETIRED).order_by("name")


def write_offs_to_settle(now: datetime) -> QuerySet[HostWriteOff]:
    """Return write-offs of which something has still to be ended, oldest first.

    Recently settled ones are checked again: an order may have seen the host alive and been stored late.
    """
    to_settle = Q(settled_at=None) | Q(settled_at__gt=now - SETTLED_AGAIN_FOR)
    return HostWriteOff.objects.filter(to_settle).select_related("host").order_by("at")


def written_off(host_ids: list[UUID]) -> dict[UUID, datetime]:
    """Return those of the hosts that were written off, with their last report."""
    return dict(HostWriteOff.objects.filter(pk__in=host_ids).values_list("pk", "last_seen_at"))


def leftovers_of(host_id: UUID) -> list[UUID]:
    """Return the written-off hosts whose containers may still be on this one."""
    return list(Host.objects.filter(pk=host_id).values_list("leftovers_of", flat=True).first() or [])
