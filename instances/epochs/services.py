"""Agreement between a restored database and its hosts.

The market adopts their higher numbers and ends what has ended since the backup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import F

from billing.invoices.invoices import skip_invoice_numbers
from billing.ledger.freezes import freeze_money
from common.db.transactions import use_case
from common.errors import DomainError
from common.ids import public_id
from instances.access.commands import give_up_open_commands
from instances.core.event_messages import TakenOver
from instances.core.observations import ObservedRow
from instances.core.selectors import any_instance, live_on_host
from instances.core.transitions import SYSTEM, record_event
from instances.host_reports.reconcile import observe_report
from instances.lifecycle.stop import halt_instance
from instances.models import Instance
from instances.states import Desired, InstanceState
from marketplace.hosts.epochs import close_agreement, open_epoch, quarantine_gpus

# The fences of each epoch lie above all earlier ones, so that no earlier order can look newer.
FENCE_JUMP: Final = 1_000_000
GONE: Final = "gone_since_backup"
_MOST_NAMED: Final = 200  # unknown containers of one host that are listed by name
_ENDED: Final = (InstanceState.STOPPED, InstanceState.FAILED, InstanceState.RELEASING, InstanceState.GONE)


@dataclass(frozen=True)
class HeldRow:
    """A host's record of one instance: the highest numbers that it knows, and its last order."""

    id: UUID
    generation: int
    fence: int
    run: str
    gpu_uuids: Sequence[str] = ()


def begin_epoch(*, reason: str, backup_at: datetime | None = None, above: int = 0) -> int:
    """Begin an epoch after a restore: no host takes rents before it has reported what it holds.

    Returns its number. Money is frozen first, so whatever fails afterwards, none leaves.
    """
    freeze_money(reason=reason)
    with use_case():
        Instance.objects.exclude(state=InstanceState.GONE).update(fence=F("fence") + FENCE_JUMP)
        skip_invoice_numbers()
        give_up_open_commands()
        return open_epoch(reason=reason, backup_at=backup_at, above=above)


def reconcile_with_host(*, host_id: UUID, held: Sequence[HeldRow], at: datetime) -> None:
    """Adopt what a host holds, once in each epoch, and open the host for rents.

    Numbers that are higher than ours were ordered after the backup and are adopted. An instance that was stopped
    since is stopped; one that is no longer there (released or migrated) fails, by nobody's fault. Unknown containers
    are kept and not run, and their GPUs are not rented out.
    """
    rows = {row.id: row for row in held}
    findings: list[str] = []
    for instance in live_on_host(host_id).values():
        try:
            findings += _settle(instance, rows.get(instance.pk), at)
        except DomainError as error:
            findings.append(f"{public_id('inst', instance.pk)} could not be settled: {error.detail}")
    known = live_on_host(host_id)
    unknown = [row for row in held if row.id not in known and row.gpu_uuids]
    elsewhere = set(Instance.objects.filter(pk__in=[row.id for row in unknown]).values_list("pk", flat=True))
    findings += [_unknown_finding(row, moved=row.id in elsewhere) for row in unknown[:_MOST_NAMED]]
    odd = {uuid for row in held if row.id not in known or _runs_on_other_gpus(known[row.id], row) for uuid in row.gpu_uuids}
    with use_case():
        quarantine_gpus(host_id=host_id, held=odd)
        close_agreement(host_id=host_id, findings=findings)


def _settle(instance: Instance, row: HeldRow | None, at: datetime) -> list[str]:
    """Settle one instance; return a sentence for whatever happened to it after the backup."""
    name = public_id("inst", instance.pk)
    if row is None or row.run == "gone":
        had_run = instance.started_at is not None and instance.state not in _ENDED
        if row is None and not had_run:
            return []
        return _fail_missing(instance, at, name)
    found = []
    if _adopt(instance, row):
        found.append(f"{name} was started, restarted or changed: generation {row.generation} is taken over.")
    if row.run == "stopped" and instance.desired == Desired.RUNNING and instance.state not in _ENDED:
        if halt_instance(instance_id=instance.pk, kind="stopped_since_backup"):
            found.append(f"{name} was stopped: it is stopped again.")
    elif row.run == "running" and instance.desired == Desired.STOPPED and row.generation > instance.run_generation:
        found.append(f"{name} was started: it is stopped, since the backup knows of no lease for it.")
    return found


def _adopt(instance: Instance, row: HeldRow) -> bool:
    """Adopt the host's numbers where higher, within limits; return whether the generation changed.

    An instance that runs on other GPUs than ours gets a further generation, so that it is started on its own.
    """
    generation = row.generation + 1 if _runs_on_other_gpus(instance, row) else row.generation
    higher = instance.run_generation < generation <= instance.run_generation + FENCE_JUMP
    fence = row.fence + 1 if instance.fence <= row.fence <= instance.fence + FENCE_JUMP else instance.fence
    if not higher and fence == instance.fence:
        return False
    same = Instance.objects.filter(pk=instance.pk, run_generation=instance.run_generation, fence=instance.fence)
    same.update(run_generation=generation if higher else instance.run_generation, fence=fence)
    if higher:
        record_event(any_instance(instance.pk), kind="taken_over", actor=SYSTEM)
    return higher


def _runs_on_other_gpus(instance: Instance, row: HeldRow) -> bool:
    """Return whether the instance runs on GPUs that are not leased to it."""
    runs = row.run == "running" and instance.desired == Desired.RUNNING
    return runs and not set(row.gpu_uuids) <= set(instance.gpu_uuids)


def _fail_missing(instance: Instance, at: datetime, name: str) -> list[str]:
    """Fail an instance of which the host has nothing any more.

    One that is being released needs nothing: it is reported absent.
    """
    if instance.desired == Desired.GONE:
        return []
    if instance.state in _ENDED:
        return [f"{name} is not there any more: it was released, or moved to another host."]
    seen = ObservedRow(
        id=instance.pk, generation=instance.run_generation, phase="failed", failure_code=GONE, detail=TakenOver()
    )
    observe_report(host_id=instance.host_id, rows=[seen], absent=[], foreign=[], at=at)
    return [f"{name} is not there any more, though it ran: it was released, or moved to another host. It has failed."]


def _unknown_finding(row: HeldRow, *, moved: bool) -> str:
    since = "is on another host by the backup: it was moved here" if moved else "is not known to the backup: it was rented"
    return f"{public_id('inst', row.id)} {since} after that. It is kept here, stopped, on {', '.join(row.gpu_uuids)}."


def quarantine_unknown(*, host_id: UUID, held: Sequence[HeldRow], quarantined: set[str]) -> None:
    """Keep GPUs of containers that no desired state names from being rented out; outside an agreement."""
    now = {uuid for row in held for uuid in row.gpu_uuids}
    if now != quarantined:
        with use_case():
            quarantine_gpus(host_id=host_id, held=now)
