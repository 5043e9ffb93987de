"""Leases: GPUs given exclusively to one holder, and returned; and room for containers without GPUs.

Called inside the holder's transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import Case, Exists, F, IntegerField, OuterRef, QuerySet, Value, When
from django.db.models.functions import Greatest

from common import clock
from common.db.prepared import Prepared, insert, run
from common.errors import InvalidInput, NotFound
from marketplace.constants import ENGINE_SLOW_AFTER_S
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.leasing.availability import lock_offers, refresh_offers
from marketplace.models import Gpu, Host, Lease, Offer
from marketplace.pricing.cpu_ram_share import Share, allocatable
from marketplace.states import HostState

_HOST = Prepared(
    lambda offer_id, count: (
        Host.objects.select_for_update(of=("self",), no_key=True)
        .filter(offers__id=offer_id, offers__gpu_free__gte=count)
        .order_by("pk")
    ),
    offer_id=UUID,
    count=int,
)
_LEASED_SHARE = """
SELECT coalesce(sum(lease.cpu_millis), 0), coalesce(sum(lease.ram_mb), 0)
FROM marketplace_gpu gpu JOIN marketplace_lease lease ON lease.gpu_id = gpu.id AND lease.released_at IS NULL
WHERE gpu.host_id = %s
"""


@dataclass(frozen=True)
class LeasedGpus:
    """GPUs that a holder got.

    `price_micros` is per GPU and hour; `cpu_millis` and `ram_mb` are for all its GPUs together.
    """

    gpu_uuids: tuple[str, ...]
    simulated: bool
    price_micros: int
    cpu_millis: int
    ram_mb: int
    host_id: UUID
    offer_version: int


def lease_gpus(
    *, offer_id: UUID, count: int, holder: UUID, expected_version: int | None, prefer: Sequence[str] = ()
) -> LeasedGpus:
    """Lease `count` GPUs of the offer, free ones of `prefer` first; all or nothing.

    Locks host, then offer, then GPUs, so take wallet locks before and instance locks after.

    Raises:
        NotFound: there is no such offer.
        OfferClosed: the host or offer is not open.
        PriceChanged: the offer's version is not `expected_version`.
        GpuTaken: too few GPUs are free; the transaction may be broken, so let it roll back.
    """
    if count < 1:
        raise InvalidInput("A lease needs at least one GPU.")
    with transaction.atomic(savepoint=False):
        host = lock_host_of(offer_id, count)
        if host is None:
            raise refusal(offer_id, expected_version)
        [offer] = lock_offers([offer_id])
        check_open(host, offer)
        check_version(offer, expected_version)
        check_share(host, offer, count)
        if offer.gpu_free < count:  # some GPUs may be free, but an earlier order waits for them
            raise GpuTaken(f"{count} GPUs requested, {offer.gpu_free} are free.")
        gpus = choose_gpus(offer, count, prefer)
        if len(gpus) < count:
            raise GpuTaken(f"{count} GPUs requested, {len(gpus)} are free.")
        write_leases(offer, gpus, holder)
        refresh_offers(offer_ids=[offer.pk], locked=True)
    return leased_gpus(offer, gpus)


def release_leases(*, holder: UUID, reason: str) -> int:
    """End every live lease of this holder, count its offers again, and return how many ended.

    Locks the leases, then their offers, to the end of the transaction: settle money (wallet locks) before.
    """
    with transaction.atomic(savepoint=False):
        live = Lease.objects.filter(holder=holder, released_at__isnull=True)
        offer_ids = list(live.order_by().values_list("offer_id", flat=True).distinct())
        if not offer_ids:
            return 0
        # A clock that was set back must not keep a lease alive: the table refuses an end before the start.
        ended = live.update(released_at=Greatest(F("leased_at"), Value(clock.now())), release_reason=reason[:40])
        refresh_offers(offer_ids=offer_ids)
    return ended


def lock_host_of(offer_id: UUID, count: int) -> Host | None:
    """Lock and return the offer's host.

    Returns None without waiting for the lock when the offer shows too few free GPUs.
    """
    return _HOST.first(offer_id=offer_id, count=count)


def choose_gpus(offer: Offer, count: int, prefer: Sequence[str]) -> list[Gpu]:
    """Return free GPUs of the offer, locked; those that another transaction has locked are skipped."""
    if not prefer:
        return _first_free(count).all(offer_id=offer.pk)
    rank = Case(When(uuid__in=list(prefer), then=Value(0)), default=Value(1), output_field=IntegerField())
    return list(_free_gpus(offer.pk).order_by(rank, "index", "pk")[:count])


def _free_gpus(offer_id: UUID) -> QuerySet[Gpu]:
    taken = Lease.objects.filter(gpu=OuterRef("pk"), released_at__isnull=True)
    free = Gpu.objects.filter(~Exists(taken), offer_id=offer_id, present=True, healthy=True, quarantined=False)
    return free.select_for_update(of=("self",), no_key=True, skip_locked=True)


@cache
def _first_free(count: int) -> Prepared[Gpu]:
    return Prepared(lambda offer_id: _free_gpus(offer_id).order_by("index", "pk")[:count], offer_id=UUID)


def refusal(offer_id: UUID, expected_version: int | None) -> Exception:
    """Return the error for an offer with too few free GPUs, the most specific reason first."""
    offer = Offer.objects.select_related("host").filter(pk=offer_id).first()
    if offer is None:
        return NotFound("This offer doesn't exist.")
    check_open(offer.host, offer)
    check_version(offer, expected_version)
    return GpuTaken("The offer has fewer free GPUs than were asked for.")


def check_open(host: Host, offer: Offer) -> None:
    if not offer.listed:
        raise OfferClosed("The host owner has taken this offer off the market.")
    if host.state != HostState.ONLINE:
        raise OfferClosed(f"The offer's host is {host.state}.")
    if host.awaits_epoch:
        raise OfferClosed("Since the restore from a backup, the offer's host hasn't reported what runs on it.")
    if host.draining:
        raise OfferClosed("The offer's host is closed for new rentals: maintenance is scheduled.")
    if host.leftovers_of:
        raise OfferClosed("The offer's host was written off, and its old containers haven't been removed yet.")
    if host.awaits_test:
        raise OfferClosed("The driver of the offer's host changed: it is closed for new rentals until a self-test passes.")
    if host.engine_age_s >= ENGINE_SLOW_AFTER_S:
        raise OfferClosed("The container engine of the offer's host isn't responding.")


def check_version(offer: Offer, expected: int | None) -> None:
    if expected is not None and offer.version != expected:
        raise PriceChanged("The offer's price or shape has changed; ask for a new quote.", offer_version=offer.version)


def check_share(host: Host, offer: Offer, count: int) -> None:
    """Refuse GPUs whose CPU and memory are leased already.

    Leases made before the host's hardware changed may hold more than today's share.

    Raises:
        GpuTaken: earlier leases hold the share.
    """
    with connection.cursor() as cursor:
        run(cursor, _LEASED_SHARE, [host.pk])
        cpu_millis, ram_mb = cursor.fetchone()
    whole = allocatable(cpu_cores=host.cpu_cores, ram_mb=host.ram_mb)
    if not _share(offer).times(count).fits_beside(Share(cpu_millis, ram_mb), whole):
        raise GpuTaken("GPUs are free, but earlier leases hold their share of CPU and memory.")


def write_leases(
    offer: Offer, gpus: Sequence[Gpu], holder: UUID, *, spot: bool = False, price_micros: int | None = None
) -> None:
    """Write leases inside the transaction that has locked offer and GPUs; refresh the offer afterwards."""
    share = _share(offer)
    leases = [
        Lease(
            gpu=gpu,
            offer=offer,
            holder=holder,
            price_micros=offer.price_micros if price_micros is None else price_micros,
            cpu_millis=share.cpu_millis,
            ram_mb=share.ram_mb,
            spot=spot,
            promised_until=offer.listed_until,
        )
        for gpu in gpus
    ]
    try:
        for lease in leases:
            insert(lease)
    except IntegrityError as error:
        if "one_live_lease_per_gpu" in str(error):
            raise GpuTaken("Someone else leased one of these GPUs at the same moment.") from error
        raise


def _share(offer: Offer) -> Share:
    return Share(offer.cpu_millis_per_gpu, offer.ram_mb_per_gpu)


def leased_gpus(offer: Offer, gpus: Sequence[Gpu], *, price_micros: int | None = None) -> LeasedGpus:
    share = _share(offer).times(len(gpus))
    return LeasedGpus(
        gpu_uuids=tuple(gpu.uuid for gpu in gpus),
        simulated=any(gpu.simulated for gpu in gpus),
        price_micros=offer.price_micros if price_micros is None else price_micros,
        cpu_millis=share.cpu_millis,
        ram_mb=share.ram_mb,
        host_id=offer.host_id,
        offer_version=offer.version,
    )


def lock_host_for_cpu(offer_id: UUID) -> Host:
    """Lock and return the offer's host, open for what it holds already.

    Wallet locks come before, instance locks after. A host that is off the market still gives its renters access
    to their data.

    Raises:
        NotFound: there is no such offer.
        OfferClosed: the host or its engine is not available.
    """
    host = lock_host_of(offer_id, 0)
    if host is None:
        raise NotFound("This offer doesn't exist.")
    if host.state != HostState.ONLINE:
        raise OfferClosed(f"The instance's host is {host.state}.")
    if host.engine_age_s >= ENGINE_SLOW_AFTER_S:
        raise OfferClosed("The container engine of the instance's host isn't responding.")
    return host
