"""Hosts as their owners and the other apps see them."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, QuerySet

from common.errors import NotFound
from marketplace.models import Gpu, Host, HostEvent, Lease, Offer
from marketplace.policy import HOST_EVENTS_SHOWN
from marketplace.states import HostState


def hosts_of(owner_id: UUID) -> QuerySet[Host]:
    """The owner's hosts with `gpus` (each with `leased`) and `offers`, in three queries however many there are."""
    live = Lease.objects.filter(gpu=OuterRef("pk"), released_at__isnull=True)
    gpus = Gpu.objects.annotate(leased=Exists(live)).order_by("index", "pk")
    return Host.objects.filter(owner_id=owner_id).prefetch_related(
        Prefetch("gpus", queryset=gpus), Prefetch("offers", queryset=Offer.objects.order_by("gpu_model"))
    )


def all_hosts() -> QuerySet[Host]:
    """Every host that has not been retired, with its `offers`, for staff."""
    return Host.objects.exclude(state=HostState.RETIRED).prefetch_related("offers")


def host_of(owner_id: UUID, host_id: UUID) -> Host:
    """One of the owner's hosts, as in `hosts_of`; NotFound for everyone else's."""
    host = hosts_of(owner_id).filter(pk=host_id).first()
    if host is None:
        raise NotFound("There is no such host.")
    return host


def host_events(host_id: UUID) -> QuerySet[HostEvent]:
    """The last things that happened to a host, newest first."""
    return HostEvent.objects.filter(host_id=host_id).order_by("-id")[:HOST_EVENTS_SHOWN]


def host_address(host_id: UUID) -> str:
    """Where renters reach the ports that instances publish."""
    return str(_one_of(host_id, "address"))


def payee_of(host_id: UUID) -> UUID:
    """Who earns what is charged on this host."""
    return UUID(str(_one_of(host_id, "owner_id")))


def _one_of(host_id: UUID, column: str) -> object:
    found = Host.objects.filter(pk=host_id).values_list(column, flat=True).first()
    if found is None:
        raise NotFound("There is no such host.")
    return found
