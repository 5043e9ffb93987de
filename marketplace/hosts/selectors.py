"""Reads of hosts for their owners and for other apps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet

from common.errors import NotFound
from marketplace.constants import HOST_EVENTS_SHOWN
from marketplace.models import Gpu, Host, HostEvent, Lease, Maintenance, Offer, SelfTest
from marketplace.states import HostState


def hosts_of(owner_id: UUID) -> QuerySet[Host]:
    """Return the owner's hosts with related rows, in five queries.

    These are `gpus` (each with `leased`), `offers`, present `maintenances`, and the last two self-tests in
    `last_self_tests`.
    """
    live = Lease.objects.filter(gpu=OuterRef("pk"), released_at__isnull=True)
    gpus = Gpu.objects.annotate(leased=Exists(live)).order_by("index", "pk")
    standing = Maintenance.objects.filter(cancelled_at__isnull=True, over_at__isnull=True).order_by("starts_at", "pk")
    return Host.objects.filter(owner_id=owner_id).prefetch_related(
        Prefetch("gpus", queryset=gpus),
        Prefetch("offers", queryset=Offer.objects.order_by("gpu_model")),
        Prefetch("maintenances", queryset=standing),
        Prefetch("self_tests", queryset=SelfTest.objects.order_by("-asked_at", "-id")[:2], to_attr="last_self_tests"),
    )


def all_hosts() -> QuerySet[Host]:
    """Return every host that is not retired, with its `offers`, for staff."""
    return Host.objects.exclude(state=HostState.RETIRED).prefetch_related("offers")


def host_of(owner_id: UUID, host_id: UUID) -> Host:
    """Return one of the owner's hosts, as in `hosts_of`.

    Raises:
        NotFound: the host is not theirs.
    """
    host = hosts_of(owner_id).filter(pk=host_id).first()
    if host is None:
        raise NotFound("This host doesn't exist.")
    return host


def takes_launch_settings(host_id: UUID) -> bool:
    """Return whether the host's agent applies launch settings; older ones ignore them."""
    return Host.objects.filter(pk=host_id, launch_settings=True).exists()


def can_keep_ssh_list(host_id: UUID) -> bool:
    """Return whether the host can restrict SSH to a list of networks; older agents don't say, and are trusted to."""
    return not Host.objects.filter(pk=host_id, keeps_ssh_list=False).exists()


def publishes_udp(host_id: UUID) -> bool:
    """Return whether renters reach UDP ports of the host: its agent publishes them, and no test has found them closed."""
    reached = Host.objects.filter(pk=host_id, publishes_udp=True).exclude(udp_reached=False)
    return reached.exclude(address="").exists()


@dataclass(frozen=True)
class HostAbilities:
    """What a host can do for an order that not every host can."""

    launch_settings: bool
    udp: bool


def abilities_of(host_ids: Sequence[UUID]) -> dict[UUID, HostAbilities]:
    """Return what `takes_launch_settings` and `publishes_udp` say of each host, in one query, or none without ids."""
    if not host_ids:
        return {}
    columns = ("pk", "launch_settings", "publishes_udp", "udp_reached", "address")
    return {
        key: HostAbilities(launch_settings, publishes and reached is not False and bool(address))
        for key, launch_settings, publishes, reached, address in Host.objects.filter(pk__in=host_ids).values_list(*columns)
    }


@dataclass(frozen=True)
class HostName:
    """Name and region of a host."""

    name: str
    region: str


def host_names(host_ids: Sequence[UUID]) -> dict[UUID, HostName]:
    rows = Host.objects.filter(pk__in=host_ids).values_list("pk", "name", "region")
    return {pk: HostName(name, region) for pk, name, region in rows}


def offer_models(offer_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the GPU model of each of these offers."""
    return dict(Offer.objects.filter(pk__in=offer_ids).values_list("pk", "gpu_model"))


def host_events(host_id: UUID) -> QuerySet[HostEvent]:
    """Return the last events of a host, newest first."""
    return HostEvent.objects.filter(host_id=host_id).order_by("-id")[:HOST_EVENTS_SHOWN]


def host_address(host_id: UUID) -> str:
    """Return the address of the ports that instances publish."""
    return str(_one_of(host_id, "address"))


@dataclass(frozen=True)
class HostEndpoints:
    """Address and port range of a host; an empty address means that it is behind NAT."""

    address: str
    port_first: int
    port_last: int


def host_endpoints_of(host_id: UUID) -> HostEndpoints:
    found = Host.objects.filter(pk=host_id).values_list("address", "port_first", "port_last").first()
    if found is None:
        raise NotFound("This host doesn't exist.")
    return HostEndpoints(*found)


def payee_of(host_id: UUID) -> UUID:
    """Return who earns what is charged on this host."""
    return UUID(str(_one_of(host_id, "owner_id")))


def _one_of(host_id: UUID, column: str) -> object:
    found = Host.objects.filter(pk=host_id).values_list(column, flat=True).first()
    if found is None:
        raise NotFound("This host doesn't exist.")
    return found


@dataclass(frozen=True)
class HostRecord:
    """Enrolment, last report, and number of renters so far of a host."""

    enrolled_at: datetime
    last_seen_at: datetime
    rents: int


def last_report(host_id: UUID) -> datetime:
    """Return the time of the host's last report."""
    return Host.objects.values_list("last_seen_at", flat=True).get(pk=host_id)


def host_record(host_id: UUID) -> HostRecord:
    """Return a host's public record.

    Raises:
        NotFound: there is no such host.
    """
    row = Host.objects.filter(pk=host_id).values_list("enrolled_at", "last_seen_at").first()
    if row is None:
        raise NotFound("This host doesn't exist.")
    return HostRecord(
        *row, rents=Lease.objects.filter(gpu__host_id=host_id).aggregate(n=Count("holder", distinct=True))["n"]
    )
