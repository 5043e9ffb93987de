"""Reads of instances for renters, hosts and sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from accounts.models import User
from common.db.prepared import Prepared
from common.encryption import decrypt
from common.errors import NotFound
from instances.constants import CPU_RUN_MILLIS, CPU_RUN_RAM_MB, PIDS_PER_GPU, STOP_GRACE, SWEEP_BATCH
from instances.core.image_selectors import IMAGE_COLUMNS, with_image
from instances.launch.orders import LaunchRow, launch_rows
from instances.models import Instance, InstanceEvent, Quote, SpotBid, Term
from instances.states import Desired, InstanceState, TermState
from storage.operations.host_presence import has_reported
from storage.volumes.selectors import MountRow, mounts_on_host


@dataclass(frozen=True)
class DesiredRow:
    """Desired state of one instance on its host, field for field as its agent reads it."""

    id: UUID
    generation: int
    fence: int
    run: str
    image: str
    gpu_uuids: list[str] = field(default_factory=list)
    simulated_gpus: bool = False
    cpu_millis: int = 0
    ram_mb: int = 0
    pids_limit: int = PIDS_PER_GPU
    data_disk_gb: int = 0
    ports: list[tuple[int, int]] = field(default_factory=list)
    ssh_keys: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    stop_grace_s: int = int(STOP_GRACE.total_seconds())
    preempt_at: int | None = None
    root: int = 0
    root_brought: bool = False
    password_hash: str = ""
    allow_from: list[str] = field(default_factory=list)
    mounts: list[MountRow] = field(default_factory=list)
    has_ssh: bool = True
    system_disk_gb: int = 0
    image_bytes: int = 0
    untouched: bool = True
    root_made: bool = False
    data_disk_made: bool = False
    registry_auth: dict[str, str] = field(default_factory=dict, repr=False)
    launch: LaunchRow | None = None
    udp_ports: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Holding:
    """The GPUs that an instance should hold by its own row."""

    instance_id: UUID
    gpu_uuids: frozenset[str]


# Reads for renters.


def instances_of(renter: User) -> QuerySet[Instance]:
    """Return all instances of the renter, even gone ones, newest first, with host, offer, image and launch settings."""
    return Instance.objects.filter(renter=renter).select_related(
        "host", "offer", "image", "launch", "launch_status", "quote"
    )


def instances_in(renter: User, states: Sequence[str]) -> QuerySet[Instance]:
    """Return the renter's instances in these states, or all that are not gone when none is named."""
    own = instances_of(renter)
    return own.filter(state__in=states) if states else own.exclude(state=InstanceState.GONE)


def instance_of(renter: User, instance_id: UUID) -> Instance:
    """Return the renter's instance; raise NotFound for any other, existing or not."""
    instance = _INSTANCE.first(pk=instance_id, renter_id=renter.pk)
    if instance is None:
        raise NotFound("This instance doesn't exist.")
    return instance


def quote_of(renter: User, quote_id: UUID) -> Quote:
    """Return the renter's quote with offer, host and image, or raise NotFound."""
    quote = _QUOTE.first(pk=quote_id, renter_id=renter.pk)
    if quote is None:
        raise NotFound("This quote doesn't exist.")
    return quote


def whole_quotes(**own: object) -> QuerySet[Quote]:
    """Return quotes with offer, host and image."""
    return Quote.objects.select_related("image", "launch", "offer__host").filter(**own).order_by()


_QUOTE = Prepared(whole_quotes, pk=UUID, renter_id=UUID)
_INSTANCE = Prepared(
    lambda **own: (
        Instance.objects.select_related("host", "offer", "image", "launch", "launch_status", "quote")
        .filter(**own)
        .order_by()
    ),
    pk=UUID,
    renter_id=UUID,
)


def events_of(instance: Instance) -> QuerySet[InstanceEvent]:
    """Return the instance's events, newest first."""
    return InstanceEvent.objects.filter(instance=instance)


def data_ending(renter: User, *, now: datetime, within: timedelta) -> QuerySet[Instance]:
    """Return the renter's stopped instances whose data is deleted within this time, the first first."""
    kept = Instance.objects.filter(renter=renter, state__in=[InstanceState.STOPPED, InstanceState.FAILED])
    return kept.filter(release_at__gt=now, release_at__lte=now + within).order_by("release_at")


# Reads for hosts.

_DESIRED = Prepared(
    lambda host_id: (
        Instance.objects.filter(host_id=host_id)
        .exclude(state=InstanceState.GONE)
        .annotate(**IMAGE_COLUMNS, simulated=F("offer__simulated"), yields_at=F("bid__yields_at"))
        .only(
            *(
                "run_generation",
                "fence",
                "desired",
                "state",
                "image",
                "gpu_uuids",
                "gpu_count",
                "cpu_millis",
                "ram_mb",
                "cpu_only",
            ),
            *("data_disk_gb", "system_disk_gb", "ports", "ssh_keys", "jupyter_token", "sealed_password", "allow_from"),
            *("udp_ports", "launch", "root_number", "brought_root", "started_at", "former_root", "data_disk_made"),
        )
        .order_by("pk")
    ),
    host_id=UUID,
)


def desired_instances(host_id: UUID, *, mounts: bool = True) -> list[DesiredRow]:
    """Return the desired rows of all instances of the host that are not gone.

    It makes one query for instances, one for mounts, and one for launch settings where there are any.
    """
    mounted, rows = mounts_on_host(host_id) if mounts else {}, _DESIRED.all(host_id=host_id)
    launches = launch_rows(row.launch_id for row in rows if row.desired == Desired.RUNNING)
    return [_with_launch(_annotated_row(row, mounted.get(row.pk, ())), launches.get(row.launch_id)) for row in rows]


def _with_launch(desired: DesiredRow, launch: LaunchRow | None) -> DesiredRow:
    """Return the row with launch settings only if it is to run: nothing else needs the secrets."""
    return replace(desired, launch=launch) if launch is not None and desired.run == Desired.RUNNING else desired


def _annotated_row(row: Any, mounts: Sequence[MountRow]) -> DesiredRow:
    plain = desired_row(row, mounts, image=row.image_reference, simulated=row.simulated, yields_at=row.yields_at)
    found: DesiredRow = with_image(plain, row)
    return found


def desired_row(
    row: Instance, mounts: Sequence[MountRow], *, image: str, simulated: bool, yields_at: datetime | None = None
) -> DesiredRow:
    # While it waits for GPUs or for its root to arrive, it is not to run yet, and its container stays as it is.
    run = Desired.STOPPED if row.state in (InstanceState.WAITING, InstanceState.COPYING) else row.desired
    holds = run == Desired.RUNNING and not row.cpu_only  # the GPUs of a stopped instance may be leased to another one
    return DesiredRow(
        id=row.pk,
        generation=row.run_generation,
        fence=row.fence,
        run=run,
        image=image,
        gpu_uuids=row.gpu_uuids if holds else [],
        simulated_gpus=simulated,
        cpu_millis=CPU_RUN_MILLIS if row.cpu_only else row.cpu_millis,
        ram_mb=CPU_RUN_RAM_MB if row.cpu_only else row.ram_mb,
        pids_limit=PIDS_PER_GPU * (1 if row.cpu_only else row.gpu_count),
        root=row.root_number,
        data_disk_gb=row.data_disk_gb,
        data_disk_made=row.data_disk_made,
        root_made=row.started_at is not None and not row.awaits_root,
        system_disk_gb=row.system_disk_gb,
        ports=[(container, host) for container, host in row.ports],
        udp_ports=row.udp_ports,
        ssh_keys=row.ssh_keys,
        env={"JUPYTER_TOKEN": row.jupyter_token} if row.jupyter_token else {},
        preempt_at=None if yields_at is None else int(yields_at.timestamp()),
        password_hash=decrypt(row.sealed_password) if row.sealed_password else "",
        allow_from=row.allow_from,
        mounts=list(mounts),
        root_brought=row.brought_root is not None and row.brought_root == row.root_number,
    )


def live_on_host(host_id: UUID) -> dict[UUID, Instance]:
    """Return the host's instances for a report, annotated with the owner `payee_id` and the `gpu_model`."""
    return {row.pk: row for row in _LIVE.all(host_id=host_id)}


def _live(host_id: UUID) -> QuerySet[Instance]:
    rows = Instance.objects.filter(host_id=host_id).exclude(state=InstanceState.GONE)
    named = rows.annotate(payee_id=F("host__owner_id"), gpu_model=F("offer__gpu_model"))
    return named.defer("ssh_keys", "ports", "udp_ports", "jupyter_token", "sealed_password", "allow_from").order_by("pk")


_LIVE = Prepared(_live, host_id=UUID)


def ids_of_host(host_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the ids that are or were instances of this host."""
    return set(Instance.objects.filter(host_id=host_id, pk__in=ids).order_by().values_list("pk", flat=True))


def lost_disks_among(host_id: UUID, ids: Sequence[UUID]) -> dict[UUID, datetime | None]:
    """Map instances of the host to the time since which their data disk is lost, or None.

    Instances whose disk is just being made or deleted are left out.
    """
    passing = [InstanceState.COPYING, InstanceState.RELEASING, InstanceState.GONE]
    rows = Instance.objects.filter(host_id=host_id, pk__in=ids).exclude(state__in=passing).order_by()
    return dict(rows.values_list("pk", "data_disk_lost_at"))


# Reads for sweeps.


def any_instance(instance_id: UUID) -> Instance:
    """Return any renter's instance, or raise NotFound; never to be used for a request."""
    instance = Instance.objects.filter(pk=instance_id).first()
    if instance is None:
        raise NotFound("This instance doesn't exist.")
    return instance


def overdue_instances(now: datetime) -> QuerySet[Instance]:
    """Return instances that have been in a transitional state for too long, the longest first."""
    return Instance.objects.filter(deadline__lte=now).order_by("deadline")


def data_due(now: datetime) -> list[UUID]:
    """Return stopped or failed instances whose retention is over."""
    due = Instance.objects.filter(state__in=[InstanceState.STOPPED, InstanceState.FAILED], release_at__lte=now)
    return list(due.order_by("release_at").values_list("pk", flat=True)[:SWEEP_BATCH])


def expected_holdings() -> list[Holding]:
    """Return which GPUs each instance should hold by the instances' rows."""
    holds = Q(holds_gpus=True) | Q(stopped_at=None) & ~Q(state=InstanceState.WAITING)
    holding = Instance.objects.filter(holds, cpu_only=False).exclude(state=InstanceState.GONE).order_by("pk")
    return [Holding(pk, frozenset(uuids)) for pk, uuids in holding.values_list("pk", "gpu_uuids")]


def runs_without_gpus_on(host_id: UUID) -> int:
    """Return how many instances run on the host without a GPU, or are about to."""
    ways = [InstanceState.STARTING, InstanceState.RUNNING, InstanceState.RESTARTING, InstanceState.STOPPING]
    return Instance.objects.filter(host_id=host_id, cpu_only=True, state__in=ways).count()


def count_by_state() -> dict[str, int]:
    """Return the number of instances in each state that occurs."""
    return dict(Instance.objects.order_by().values_list("state").annotate(Count("pk")))


# Reserved terms.


def active_term(instance_id: UUID) -> Term | None:
    return Term.objects.filter(instance_id=instance_id, state=TermState.ACTIVE).first()


def next_term(instance_id: UUID) -> Term | None:
    """Return the term that has not begun: a first term before the first run, or a renewal."""
    return Term.objects.filter(instance_id=instance_id, state=TermState.NEXT).first()


def all_terms_of(instance_ids: Sequence[UUID]) -> list[Term]:
    """Return all terms of these instances in the order of their beginning."""
    if len(instance_ids) == 1:
        return _TERMS.all(instance_id=instance_ids[0])
    return list(Term.objects.filter(instance_id__in=instance_ids).order_by("starts_at"))


_TERMS = Prepared(lambda **own: Term.objects.filter(**own).order_by("starts_at"), instance_id=UUID)


def due_terms(ended_before: datetime, spared: frozenset[UUID]) -> list[UUID]:
    """Return instances whose term is over, except those on the spared hosts."""
    due = Term.objects.filter(state=TermState.ACTIVE, ends_at__lte=ended_before).order_by("ends_at")
    due = due.exclude(instance__host_id__in=spared) if spared else due
    return list(due.values_list("instance_id", flat=True)[:SWEEP_BATCH])


def instances_of_terms(term_ids: Sequence[UUID]) -> list[UUID]:
    return list(Term.objects.filter(pk__in=term_ids).order_by("pk").values_list("instance_id", flat=True))


def running_terms(instance_ids: Sequence[UUID]) -> list[Term]:
    return list(Term.objects.filter(instance_id__in=instance_ids, state=TermState.ACTIVE).order_by("pk"))


def with_paid_disks(now: datetime) -> list[UUID]:
    """Return instances whose data disk is charged now.

    It was leased with its GPUs at least once, is not lost, and its host has reported lately.
    """
    ending = [InstanceState.WAITING, InstanceState.RELEASING, InstanceState.GONE]
    found = Instance.objects.filter(has_reported(now), disk_micros_per_day__gt=0, data_disk_lost_at=None)
    found = found.exclude(state__in=ending)
    found = found.exclude(state=InstanceState.COPYING, stopped_at=None)  # a clone is charged once it has been copied
    return list(found.order_by().values_list("pk", flat=True))


def gone_among(instance_ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the ids whose instances are gone."""
    gone = Instance.objects.filter(pk__in=instance_ids, state=InstanceState.GONE)
    return set(gone.order_by().values_list("pk", flat=True))


# Spot.


def bids_of(instance_ids: Sequence[UUID]) -> list[SpotBid]:
    """Return the bids of those that are spot rents; without ids no query is made."""
    return list(SpotBid.objects.filter(pk__in=instance_ids).order_by("pk")) if instance_ids else []
