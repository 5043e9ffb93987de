"""Hosts as the API shows them to their owners; what is not measured or not offered is null."""

from datetime import datetime
from typing import Annotated, Any

from common.http.message_schema import MessageOut
from common.ids import public_id
from common.messages.rendering import message_fields
from common.money import format_money, money_or_none
from common.resources import OneOf, resource
from marketplace import models
from marketplace.gpu_catalogue.catalogue import by_slug, nominal_vram_gb
from marketplace.hosts.offer_resources import gigabytes
from marketplace.pricing.prices import TERM_HOURS
from marketplace.states import Verification

_BPS = 10_000


@resource
class OwnGpu:
    """One GPU of your host."""

    uuid: str
    model: str
    slug: str
    name: str
    vram_gb: int
    index: int
    present: bool
    healthy: bool
    leased: bool
    simulated: bool
    detail: str | None


@resource
class OwnDiscounts:
    """Discount of each term on the hourly price, such as "0.2"; null means not offered."""

    day: str | None
    week: str | None
    month: str | None
    year: str | None
    year3: str | None


@resource
class OwnTier:
    """Discount that applies after this many hours of continuous use."""

    from_hours: int
    discount: str


@resource
class OwnOffer:
    """One offer of your host."""

    id: str
    gpu_model: str
    listed: bool
    price_hourly: Annotated[str, "Per GPU and hour"]
    reserved_discounts: OwnDiscounts
    tiers: list[OwnTier]
    spot_floor: str | None
    disk_gb_day: Annotated[str, "Per GB-day above the free allowance"]
    hold_share: Annotated[str, "Share of the on-demand price, for GPUs kept by a stopped instance"]
    version: int
    gpu_free: int
    gpu_total: int


@resource
class HostDisk:
    """Disk of your host."""

    kind: str
    total_gb: int
    free_gb: int
    root_limit: Annotated[str | None, "disk: hard limit per system disk; none: only monitored; null: an older agent"]
    read_mbps: Annotated[int | None, "MB/s, median of `samples`; null: not measured"]
    write_mbps: int | None
    measured_at: datetime | None
    samples: int


@resource
class HostNetwork:
    """Network of your host, measured against the control plane."""

    up_mbps: Annotated[int | None, "Mbit/s, median of `samples`; null: not measured"]
    down_mbps: int | None
    measured_at: datetime | None
    samples: int


@resource
class HostPorts:
    """Host ports that instances can publish."""

    first: int
    last: int


@resource
class HostEvent:
    """Event of your host."""

    at: datetime
    kind: str
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]
    actor: str


@resource
class Host:
    """Your host with its GPUs and offers."""

    id: str
    name: str
    region: str
    state: str
    verified: bool
    verification: Annotated[str, OneOf(Verification.choices)]
    verified_at: datetime | None
    draining: bool
    simulated: bool
    runtime: str
    runtime_version: str | None
    address: Annotated[str, "Empty behind NAT"]
    behind_nat: Annotated[bool, "Reachable only through the relay"]
    hostname: str
    kernel: str | None
    cpu_model: str | None
    cpu_cores: int
    ram_gb: float
    disk: HostDisk
    network: HostNetwork
    nvlink: bool
    driver: str | None
    cuda: str | None
    ports: HostPorts
    warnings: list[str]
    agent_version: str | None
    engine_age_s: float
    reliability: float | None
    listed_until: Annotated[datetime | None, "null: no end date"]
    enrolled_at: datetime
    agent_revoked_at: Annotated[datetime | None, "The agent is rejected until the host is added again"]
    last_seen_at: datetime
    gpus: list[OwnGpu]
    offers: list[OwnOffer]


@resource
class HostDetail(Host):
    """Your host with its last events."""

    events: list[HostEvent]


def host_resource(host: models.Host) -> Host:
    """Return a host's JSON for its owner; it was read by `hosts_of`, so GPUs and offers are loaded."""
    return Host(
        id=public_id("host", host.pk),
        name=host.name,
        region=host.region,
        state=host.state,
        verified=host.verified,
        verification=host.verification,
        verified_at=host.verified_at,
        draining=host.draining,
        simulated=host.simulated,
        runtime=host.runtime,
        runtime_version=host.runtime_version or None,
        address=host.address,
        behind_nat=host.behind_nat,
        hostname=host.hostname,
        kernel=host.kernel or None,
        cpu_model=host.cpu_model or None,
        cpu_cores=host.cpu_cores,
        ram_gb=gigabytes(host.ram_mb),
        disk=_disk(host),
        network=HostNetwork(
            up_mbps=host.net_up_mbps,
            down_mbps=host.net_down_mbps,
            measured_at=host.net_measured_at,
            samples=host.net_samples,
        ),
        nvlink=host.nvlink,
        driver=host.driver or None,
        cuda=host.cuda or None,
        ports=HostPorts(first=host.port_first, last=host.port_last),
        warnings=host.warnings,
        agent_version=host.agent_version or None,
        engine_age_s=host.engine_age_s,
        reliability=None if host.reliability_ppm is None else host.reliability_ppm / 1_000_000,
        listed_until=host.listed_until,
        enrolled_at=host.enrolled_at,
        agent_revoked_at=host.agent_revoked_at,
        last_seen_at=host.last_seen_at,
        gpus=[_gpu(gpu) for gpu in host.gpus.all()],
        offers=[_own_offer(offer) for offer in host.offers.all()],
    )


def _disk(host: models.Host) -> HostDisk:
    return HostDisk(
        kind=host.disk_kind,
        total_gb=host.disk_total_gb,
        free_gb=host.disk_free_gb,
        root_limit=host.root_limit or None,
        read_mbps=host.disk_read_mbps,
        write_mbps=host.disk_write_mbps,
        measured_at=host.disk_measured_at,
        samples=host.disk_samples,
    )


def _gpu(gpu: models.Gpu) -> OwnGpu:
    return OwnGpu(
        uuid=gpu.uuid,
        model=by_slug(gpu.model).name,
        slug=gpu.model,
        name=gpu.name,
        vram_gb=nominal_vram_gb(gpu.model, gpu.vram_mb),
        index=gpu.index,
        present=gpu.present,
        healthy=gpu.healthy,
        leased=gpu.leased,  # type: ignore[attr-defined]  # annotated by hosts_of
        simulated=gpu.simulated,
        detail=gpu.detail or None,
    )


def _own_offer(offer: models.Offer) -> OwnOffer:
    terms = offer.reserved_discounts
    return OwnOffer(
        id=public_id("offr", offer.pk),
        gpu_model=offer.gpu_model,
        listed=offer.listed,
        price_hourly=format_money(offer.price_micros),
        reserved_discounts=OwnDiscounts(**{term: share_text(terms[term]) if term in terms else None for term in TERM_HOURS}),
        tiers=[OwnTier(from_hours=hours, discount=share_text(off_bps)) for hours, off_bps in offer.tiers],
        spot_floor=money_or_none(offer.spot_floor_micros),
        disk_gb_day=format_money(offer.disk_micros_gb_day),
        hold_share=share_text(offer.hold_bps),
        version=offer.version,
        gpu_free=offer.gpu_free,
        gpu_total=offer.gpu_total,
    )


def share_text(off_bps: int) -> str:
    """Return basis points as a share of one: 1500 is "0.15"."""
    return f"{off_bps / _BPS:.4f}".rstrip("0").rstrip(".")


def event_resource(event: models.HostEvent) -> HostEvent:
    return HostEvent(at=event.at, kind=event.kind, **message_fields(event.message, event.detail), actor=event.actor)
