"""Epochs: a new one closes every host until its agent has reported what it holds.

What the market does not know is not sold.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Max

from common import change_counters, clock
from common.errors import wrong_field
from common.ids import public_id
from common.messages.message import Name
from marketplace.hosts.hosts import lock_host, record_event
from marketplace.hosts.incidents import extend_incident
from marketplace.incident_messages import AfterRestore
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Epoch, Gpu, Host
from marketplace.states import HostState

AGENT: Final = "agent"
SUBJECT: Final = "market"
AFTER_BACKUP: Final = "after_backup"  # kind of the incident that lists what the backup does not contain
# A number is the time of its beginning. A host that reports a higher one is not believed: agents and the market
# accept no numbers beyond this, since none can be taken back.
FURTHEST_AHEAD: Final = timedelta(days=1)
# From one host, so that none can fill the list and hide what others found.
_MOST_FINDINGS: Final = 300
_FINDING_CHARS: Final = 500
_MOST_SHOWN: Final = 10


def open_epoch(*, reason: str, backup_at: datetime | None, above: int = 0) -> int:
    """Start the next epoch, inside a use case; every host must agree to it before new rents.

    Its number is greater than `above`, which an agent may have accepted in a time that this database does not
    know.

    Raises:
        InvalidInput: `above` is a time in the future.
    """
    now = clock.now()
    if above > (now + FURTHEST_AHEAD).timestamp():
        raise wrong_field("above", "No epoch can have this number: it lies in the future, a time that has not come.")
    number = max(int(now.timestamp()), present_epoch() + 1, above + 1)
    Epoch.objects.create(number=number, reason=reason[:200], backup_at=backup_at, begun_at=now)
    hosts = Host.objects.exclude(state=HostState.RETIRED).order_by("pk")
    for host in hosts.select_for_update(of=("self",), no_key=True):
        Host.objects.filter(pk=host.pk).update(awaits_epoch=True)
        refresh_offers_of_host(host_id=host.pk)
        change_counters.notify_change(f"host:{host.pk.hex}")
    return number


def close_agreement(*, host_id: UUID, findings: Sequence[str]) -> None:
    """Record, inside a use case, that the host has reported what it holds, and open it for rents again."""
    host = lock_host(host_id)
    Host.objects.filter(pk=host_id).update(awaits_epoch=False)
    record_event(host_id=host_id, kind="epoch_agreed", actor=AGENT)
    refresh_offers_of_host(host_id=host_id)
    listed = [line[:_FINDING_CHARS] for line in findings[:_MOST_FINDINGS]]
    if len(findings) > len(listed):
        listed.append(f"{len(findings) - len(listed)} more are not listed.")
    add_findings([f"Host {host.name} ({public_id('host', host_id)}): {line}" for line in listed])
    change_counters.notify_change(f"user:{host.owner_id.hex}")


def epoch_numbers() -> set[int]:
    """Return the numbers of all epochs in this database."""
    return set(Epoch.objects.values_list("number", flat=True))


def add_findings(findings: Sequence[str]) -> None:
    """Add findings to the present epoch, and to the incident that staff have open for it."""
    epoch = Epoch.objects.select_for_update(no_key=True).order_by("-number").first()
    known = set() if epoch is None else set(epoch.findings)
    fresh = [line for line in findings if line not in known]
    if epoch is None or not fresh:
        return
    epoch.findings = [*epoch.findings, *fresh]
    epoch.save(update_fields=["findings"])
    newest = tuple(Name(name=line) for line in epoch.findings[-_MOST_SHOWN:])
    params = AfterRestore(count=len(epoch.findings), newest=newest)
    extend_incident(kind=AFTER_BACKUP, subject=SUBJECT, detail=params, text="\n".join(epoch.findings))


def quarantine_gpus(*, host_id: UUID, held: Collection[str]) -> None:
    """Quarantine exactly these GPUs of the host, inside a use case.

    Containers unknown to the market use them.
    """
    lock_host(host_id)
    own = Gpu.objects.filter(host_id=host_id)
    begun = own.filter(uuid__in=held, quarantined=False).update(quarantined=True)
    ended = own.exclude(uuid__in=held).filter(quarantined=True).update(quarantined=False)
    if begun or ended:
        record_event(host_id=host_id, kind="gpus_quarantined", detail=Name(name=", ".join(sorted(held))), actor=AGENT)
        refresh_offers_of_host(host_id=host_id)


def quarantined_gpus(host_id: UUID) -> set[str]:
    return set(Gpu.objects.filter(host_id=host_id, quarantined=True).values_list("uuid", flat=True))


def present_epoch() -> int:
    """Return the present epoch; 0 for a market that was never restored from a backup."""
    return Epoch.objects.aggregate(newest=Max("number"))["newest"] or 0


def hosts_to_agree() -> list[Host]:
    """Return hosts that have not reported what they hold in the present epoch."""
    return list(Host.objects.filter(awaits_epoch=True).exclude(state=HostState.RETIRED).order_by("name", "pk"))
