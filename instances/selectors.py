"""Reads of instances: for their renters, for their hosts, for the sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from billing.policy import INSTANCE_SOURCE, WATCH_SOURCE
from billing.selectors import Cost, costs_of, entries_of, open_holds
from common.errors import NotFound
from common.prepared import Prepared
from instances.models import Instance, InstanceEvent, Quote, Watch
from instances.policy import METRICS_POINTS, PIDS_PER_GPU, STOP_GRACE, SWEEP_BATCH, WATCH_MAIL_TRIED
from instances.states import Desired, InstanceState, WatchAction, WatchState

_METRICS = """
SELECT to_timestamp(floor(extract(epoch FROM at) / %(step)s) * %(step)s),
       avg(cpu_pct), avg(ram_mb), max(disk_mb), sum(rx_bytes)::bigint, sum(tx_bytes)::bigint,
       avg(gpu_util_pct), avg(vram_used_mb)
FROM instances_instancesample
WHERE instance_id = %(instance)s AND at >= %(since)s AND at < %(until)s
GROUP BY 1 ORDER BY 1
"""


@dataclass(frozen=True)
class DesiredRow:
    """What the host should make of one instance, field for field as its agent reads it."""

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


@dataclass(frozen=True)
class Sample:
    """Mean use of an instance over one step of time; disk is the highest reading, traffic what has passed in the step."""

    at: datetime
    cpu_pct: float
    ram_mb: float
    disk_mb: int
    rx_bytes: int
    tx_bytes: int
    gpu_util_pct: float
    vram_used_mb: float


@dataclass(frozen=True)
class Holding:
    """The GPUs that an instance should hold by its own books."""

    instance_id: UUID
    gpu_uuids: frozenset[str]


# -- for renters


def instances_of(renter: User) -> QuerySet[Instance]:
    """All instances of the renter, newest first, with host, offer and image; those that are gone too."""
    return Instance.objects.filter(renter=renter).select_related("host", "offer", "image")


def instances_in(renter: User, states: Sequence[str]) -> QuerySet[Instance]:
    """The renter's instances in these states; all that are not gone when none is named."""
    own = instances_of(renter)
    return own.filter(state__in=states) if states else own.exclude(state=InstanceState.GONE)


def instance_of(renter: User, instance_id: UUID) -> Instance:
    """Raises NotFound for what is not theirs, as for what does not exist."""
    instance = _INSTANCE.first(pk=instance_id, renter_id=renter.pk)
    if instance is None:
        raise NotFound("There is no such instance.")
    return instance


def costs_of_instances(instances: Sequence[Instance], now: datetime) -> dict[UUID, Cost]:
    """What each has cost so far. One query, or none while none of them has ever run."""
    ran = [instance.pk for instance in instances if instance.started_at is not None]
    costs = costs_of(source_kind=INSTANCE_SOURCE, source_ids=ran, now=now) if ran else {}
    return {instance.pk: costs.get(instance.pk, Cost()) for instance in instances}


def quote_of(renter: User, quote_id: UUID) -> Quote:
    """The renter's quote with offer, host and image."""
    quote = _QUOTE.first(pk=quote_id, renter_id=renter.pk)
    if quote is None:
        raise NotFound("There is no such quote.")
    return quote


_QUOTE = Prepared(
    lambda **own: Quote.objects.select_related("image", "offer__host").filter(**own).order_by(), pk=UUID, renter_id=UUID
)
_INSTANCE = Prepared(
    lambda **own: Instance.objects.select_related("host", "offer", "image").filter(**own).order_by(),
    pk=UUID,
    renter_id=UUID,
)


def events_of(instance: Instance) -> QuerySet[InstanceEvent]:
    """Newest first."""
    return InstanceEvent.objects.filter(instance=instance)


def charges_of(instance: Instance) -> QuerySet[Any]:
    """The renter's ledger entries for this instance with their postings, newest first."""
    entries = entries_of(owner_id=instance.renter_id)
    return entries.filter(posting__source_kind=INSTANCE_SOURCE, posting__source_id=instance.pk)


def metrics_of(instance: Instance, *, since: datetime, until: datetime) -> list[Sample]:
    """Use over time, thinned to at most METRICS_POINTS points."""
    step = max(1, int((until - since) / timedelta(seconds=METRICS_POINTS)))
    with connection.cursor() as cursor:
        cursor.execute(_METRICS, {"instance": instance.pk, "since": since, "until": until, "step": step})
        return [Sample(*row) for row in cursor.fetchall()]


# -- for hosts

_DESIRED = Prepared(
    lambda host_id: (
        Instance.objects.filter(host_id=host_id)
        .exclude(state=InstanceState.GONE)
        .annotate(image_reference=F("image__reference"), simulated=F("offer__simulated"))
        .only(
            *("run_generation", "fence", "desired", "gpu_uuids", "gpu_count", "cpu_millis", "ram_mb", "data_disk_gb"),
            *("ports", "ssh_keys", "jupyter_token"),
        )
        .order_by("pk")
    ),
    host_id=UUID,
)


def desired_instances(host_id: UUID) -> list[DesiredRow]:
    """Everything that should be on the host, in one query; what is gone is not named any more."""
    return [_desired_row(row) for row in _DESIRED.all(host_id=host_id)]


def _desired_row(row: Instance) -> DesiredRow:
    return DesiredRow(
        id=row.pk,
        generation=row.run_generation,
        fence=row.fence,
        run=row.desired,
        image=row.image_reference,  # type: ignore[attr-defined]  # annotated by _DESIRED
        gpu_uuids=row.gpu_uuids if row.desired == Desired.RUNNING else [],  # a stopped one's may be someone else's by now
        simulated_gpus=row.simulated,  # type: ignore[attr-defined]
        cpu_millis=row.cpu_millis,
        ram_mb=row.ram_mb,
        pids_limit=PIDS_PER_GPU * row.gpu_count,
        data_disk_gb=row.data_disk_gb,
        ports=[(container, host) for container, host in row.ports],
        ssh_keys=row.ssh_keys,
        env={"JUPYTER_TOKEN": row.jupyter_token} if row.jupyter_token else {},
    )


def live_on_host(host_id: UUID) -> dict[UUID, Instance]:
    """What a report of the host may be about, with the host's owner as `payee_id` and the model as `gpu_model`."""
    return {row.pk: row for row in _LIVE.all(host_id=host_id)}


def _live(host_id: UUID) -> QuerySet[Instance]:
    rows = Instance.objects.filter(host_id=host_id).exclude(state=InstanceState.GONE)
    named = rows.annotate(payee_id=F("host__owner_id"), gpu_model=F("offer__gpu_model"))
    return named.defer("ssh_keys", "ports", "jupyter_token").order_by("pk")


_LIVE = Prepared(_live, host_id=UUID)


def ids_of_host(host_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Those of the ids that are or were instances of this host."""
    return set(Instance.objects.filter(host_id=host_id, pk__in=ids).order_by().values_list("pk", flat=True))


# -- for sweeps


def any_instance(instance_id: UUID) -> Instance:
    """Whoever's it is: for the market's own work, never for a request."""
    instance = Instance.objects.filter(pk=instance_id).first()
    if instance is None:
        raise NotFound("There is no such instance.")
    return instance


def overdue_instances(now: datetime) -> QuerySet[Instance]:
    return Instance.objects.filter(deadline__lte=now).order_by("deadline")[:SWEEP_BATCH]


def data_due(now: datetime) -> list[UUID]:
    """Stopped or failed instances whose data has been kept long enough."""
    due = Instance.objects.filter(state__in=[InstanceState.STOPPED, InstanceState.FAILED], release_at__lte=now)
    return list(due.order_by("release_at").values_list("pk", flat=True)[:SWEEP_BATCH])


def expected_holdings() -> list[Holding]:
    """By the instances' own books: who should hold which GPUs."""
    holding = Instance.objects.filter(stopped_at=None).exclude(state=InstanceState.GONE).order_by("pk")
    return [Holding(pk, frozenset(uuids)) for pk, uuids in holding.values_list("pk", "gpu_uuids")]


def count_by_state() -> dict[str, int]:
    """How many instances there are in each state that any is in, for operations."""
    return dict(Instance.objects.order_by().values_list("state").annotate(Count("pk")))


# -- the wait list


def watches_of(user: User) -> QuerySet[Watch]:
    """The user's places in the wait list, newest first, each with how many waiting places are `ahead` of it."""
    before = Watch.objects.filter(state=WatchState.WAITING, place__lt=OuterRef("place")).order_by()
    ahead = Subquery(before.values("state").annotate(count=Count("pk")).values("count"))
    own = Watch.objects.filter(user=user).select_related("image", "instance", "offer__host")
    return own.annotate(ahead=Coalesce(ahead, 0)).order_by("-place")


def watches_in(user: User, states: Sequence[str]) -> QuerySet[Watch]:
    """Those in these states; all that wait or have ended lately when none is named."""
    return watches_of(user).filter(state__in=states) if states else watches_of(user)


def watch_of(user: User, watch_id: UUID) -> Watch:
    """Raises NotFound for what is not theirs, as for what does not exist."""
    watch = watches_of(user).filter(pk=watch_id).first()
    if watch is None:
        raise NotFound("There is no such place in the wait list.")
    return watch


def waiting_of(user: User) -> QuerySet[Watch]:
    return Watch.objects.filter(user=user, state=WatchState.WAITING)


def waiting_after(place: int) -> list[Watch]:
    """The next stretch of the wait list, in order."""
    waiting = Watch.objects.filter(state=WatchState.WAITING, place__gt=place).select_related("user", "image")
    return list(waiting.order_by("place")[:SWEEP_BATCH])


def someone_waits() -> bool:
    return Watch.objects.filter(state=WatchState.WAITING).exists()


def expired_watches(now: datetime) -> list[Watch]:
    due = Watch.objects.filter(state=WatchState.WAITING, expires_at__lte=now)
    return list(due.order_by("expires_at")[:SWEEP_BATCH])


def watches_to_mail(now: datetime) -> list[Watch]:
    """Ended places whose users have not been written to yet; who cancelled knows it already."""
    ended = Watch.objects.filter(
        mailed_at=None,
        state__in=[WatchState.TOLD, WatchState.RENTED, WatchState.FAILED, WatchState.EXPIRED],
        ended_at__gt=now - WATCH_MAIL_TRIED,
    )
    return list(ended.select_related("user", "instance", "offer__host").order_by("ended_at")[:SWEEP_BATCH])


def held_for_watches(watches: Sequence[Watch]) -> dict[UUID, int]:
    """What is set aside for each of them now; a place for which nothing is held is left out."""
    return open_holds(source_kind=WATCH_SOURCE, source_ids=[watch.pk for watch in watches])


def watch_holds_expected() -> set[UUID]:
    """By the list's own books: for which places money should be held."""
    orders = Watch.objects.filter(state=WatchState.WAITING, action=WatchAction.RENT)
    return set(orders.order_by().values_list("pk", flat=True))
