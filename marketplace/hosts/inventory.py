"""Inventory of a host as its agent reports it: facts, GPUs by UUID, and one offer per GPU model."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q

from common.addresses import HIGHEST_PORT, parse_address
from common.errors import InvalidInput
from common.printable import cut_printable
from marketplace.constants import FIRST_DISK_MICROS_GB_DAY, MAX_GPUS_PER_HOST
from marketplace.errors import GpuClaimed, NoWayIn, SimulationRefused
from marketplace.gpu_catalogue.catalogue import nominal_vram_gb, recognise_model
from marketplace.leasing.availability import refresh_offers
from marketplace.models import Gpu, Host, HostWriteOff, Offer
from marketplace.pricing.cpu_ram_share import share_per_gpu
from marketplace.pricing.price_history import record_price
from marketplace.states import HostState


@dataclass(frozen=True)
class ReportedGpu:
    """One physical GPU as reported by its host's agent; memory in MiB."""

    uuid: str
    name: str
    vram_mb: int
    index: int = 0
    pcie_gen: int = 0
    pcie_width: int = 0
    simulated: bool = False
    healthy: bool = True
    detail: str = ""


@dataclass(frozen=True)
class ReportedHost:
    """Facts of a host as reported by its agent; `cuda` is the highest version that its driver supports."""

    hostname: str
    runtime: str
    runtime_version: str
    kernel: str
    cpu_model: str
    cpu_cores: int
    ram_mb: int
    disk_total_gb: int
    disk_free_gb: int
    disk_kind: str
    driver: str
    cuda: str
    gpus: Sequence[ReportedGpu] = field(default_factory=list)
    images: Sequence[str] = field(default_factory=list)
    port_first: int = 0
    port_last: int = 0
    address: str = ""
    warnings: Sequence[str] = field(default_factory=list)
    nvlink: bool | None = None
    disk_read_mbps: int | None = None
    disk_write_mbps: int | None = None
    disk_measured_at: int | None = None
    net_up_mbps: int | None = None
    net_down_mbps: int | None = None
    net_measured_at: int | None = None
    keeps_ssh_list: bool | None = None
    root_limit: str = ""
    launch_settings: bool = False
    publishes_udp: bool = False
    behind_nat: bool = False

    @property
    def simulated(self) -> bool:
        return self.runtime == "simulated" or any(gpu.simulated for gpu in self.gpus)


_GPU_UUID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,79}\Z")
_TEXTS = {
    "hostname": 255,
    "runtime_version": 40,
    "kernel": 120,
    "cpu_model": 120,
    "disk_kind": 10,
    "driver": 40,
    "cuda": 10,
    "root_limit": 10,
}
_NUMBERS = ("cpu_cores", "ram_mb", "disk_total_gb", "disk_free_gb", "port_first", "port_last")
_MEASURED = ("disk_read_mbps", "disk_write_mbps", "net_up_mbps", "net_down_mbps")
_STAMPS = ("disk_measured_at", "net_measured_at")
_GPU_NUMBERS = ("vram_mb", "index", "pcie_gen", "pcie_width")
_LARGEST = 2**31 - 1
_LARGEST_STAMP = 2**53
_FASTEST_MBPS = 10_000_000


def check_facts(shape: ReportedHost) -> None:
    """Refuse facts that no host can have, and simulation where the market does not allow it.

    Raises:
        SimulationRefused: simulated hosts are not allowed.
        InvalidInput: a fact is not possible.
    """
    if shape.simulated and not settings.SIMULATION_ALLOWED:
        raise SimulationRefused()
    numbers = [getattr(shape, name) for name in _NUMBERS]
    numbers += [getattr(gpu, name) for gpu in shape.gpus for name in _GPU_NUMBERS]
    if not all(0 <= number <= _LARGEST for number in numbers) or shape.cpu_cores < 1 or shape.ram_mb < 1:
        raise InvalidInput("The host's facts contain an impossible number.")
    _check_measured(shape)
    if not shape.port_first <= shape.port_last <= HIGHEST_PORT:
        raise InvalidInput("The host's port range isn't valid.")
    if shape.behind_nat and settings.RELAY_TCP_PORTS is None:
        raise NoWayIn()
    if shape.address:
        parse_address(shape.address)
    if shape.runtime not in ("docker", "simulated"):
        raise InvalidInput("The host's runtime must be docker or simulated.")
    _check_gpus(shape.gpus)


def _check_measured(shape: ReportedHost) -> None:
    speeds = [getattr(shape, name) for name in _MEASURED]
    stamps = [getattr(shape, name) for name in _STAMPS]
    possible = all(speed is None or 0 <= speed <= _FASTEST_MBPS for speed in speeds)
    if not possible or not all(stamp is None or 0 <= stamp <= _LARGEST_STAMP for stamp in stamps):
        raise InvalidInput("The host's facts contain an impossible measurement.")


def _check_gpus(gpus: Sequence[ReportedGpu]) -> None:
    uuids = [gpu.uuid for gpu in gpus]
    if len(uuids) > MAX_GPUS_PER_HOST:
        raise InvalidInput(f"A host has at most {MAX_GPUS_PER_HOST} GPUs.")
    if len(set(uuids)) < len(uuids):
        raise InvalidInput("Two of the host's GPUs have the same UUID.")
    if not all(_GPU_UUID.match(uuid) for uuid in uuids):
        raise InvalidInput("A GPU's UUID has at most 80 letters, digits and . _ : / -")


def host_columns(shape: ReportedHost) -> dict[str, object]:
    """Return the host's columns that its facts determine, cut to the columns' sizes."""
    columns: dict[str, object] = {name: cut_printable(getattr(shape, name), size) for name, size in _TEXTS.items()}
    columns |= {name: getattr(shape, name) for name in _NUMBERS}
    columns["runtime"], columns["simulated"] = shape.runtime, shape.simulated
    columns["nvlink"] = bool(shape.nvlink)
    columns["keeps_ssh_list"] = shape.keeps_ssh_list
    columns["launch_settings"] = shape.launch_settings
    columns["publishes_udp"] = shape.publishes_udp
    columns["images"] = [cut_printable(image, 255) for image in shape.images]
    columns["warnings"] = [cut_printable(warning, 300) for warning in shape.warnings]
    if shape.behind_nat and settings.RELAY_TCP_PORTS is not None:
        columns["address"] = ""  # whatever address it reports, nobody can reach it there
        columns["port_first"], columns["port_last"] = settings.RELAY_TCP_PORTS
    elif shape.address:
        columns["address"] = parse_address(shape.address)
    return columns


def claimed_elsewhere(host: Host, gpus: Iterable[ReportedGpu]) -> dict[str, UUID]:
    """Return those UUIDs that belong to another host which has not been retired, with that host.

    A host that was written off keeps its GPUs until all of its leases have ended.
    """
    others = Gpu.objects.exclude(host=host).exclude(host__state=HostState.RETIRED, host__write_off__settled_at__isnull=False)
    others = others.exclude(host__state=HostState.RETIRED, host__write_off=None)
    return dict(others.filter(uuid__in=[gpu.uuid for gpu in gpus]).values_list("uuid", "host_id"))


def record_gpus(*, host: Host, gpus: Sequence[ReportedGpu], first_price_micros: int) -> None:
    """Make the host's GPU rows and offers match `gpus`; the caller has locked the host.

    A GPU that is no longer seen stays as absent: a lease may hold it. One of a retired host moves here with its
    history.
    """
    offers = _offers_by_model(host, gpus, first_price_micros)
    uuids = [gpu.uuid for gpu in gpus]
    rows = Gpu.objects.filter(Q(host=host) | Q(uuid__in=uuids)).select_related("host").order_by("pk")
    known = {row.uuid: row for row in rows}
    _record_leftovers(host, [row.host_id for row in known.values() if row.host_id != host.pk])
    left = {row.offer_id for row in known.values()}
    fresh = []
    for gpu in sorted(gpus, key=lambda gpu: gpu.uuid):  # one order for all, so that two hosts cannot block each other
        columns = _gpu_columns(host, offers, gpu)
        row = known.pop(gpu.uuid, None)
        if row is None:
            fresh.append(Gpu(uuid=gpu.uuid, **columns))
        else:
            _update_gpu(host, row, columns)
    Gpu.objects.bulk_create(fresh)
    Gpu.objects.filter(pk__in=[row.pk for row in known.values() if row.present]).update(present=False)
    _reshape_offers(host)
    refresh_offers(offer_ids=sorted(left | {offer.pk for offer in offers.values()}))


def _record_leftovers(host: Host, former: Sequence[UUID]) -> None:
    """Record written-off hosts whose GPUs are now here.

    Their containers may be here too, and those that were left on them before.
    """
    found = HostWriteOff.objects.filter(pk__in=former).select_related("host").order_by("pk")
    owed = dict.fromkeys([*host.leftovers_of, *(each for row in found for each in (row.pk, *row.host.leftovers_of))])
    if len(owed) > len(host.leftovers_of):
        host.leftovers_of = list(owed)
        host.save(update_fields=["leftovers_of"])


def _update_gpu(host: Host, row: Gpu, columns: dict[str, object]) -> None:
    """Write changed columns.

    Of two hosts that take over a retired host's GPU at the same moment, the second is refused.
    """
    if all(getattr(row, name) == value for name, value in columns.items()):
        return
    ours = row.host_id == host.pk or row.host.state == HostState.RETIRED
    if not (ours and Gpu.objects.filter(pk=row.pk, host_id=row.host_id).update(**columns)):
        raise GpuClaimed(f"Another host registered the GPU {row.uuid} at the same time.", gpu_uuid=row.uuid)


def _offers_by_model(host: Host, gpus: Sequence[ReportedGpu], first_price_micros: int) -> dict[str, Offer]:
    """Return an offer for each model; a new one without a price stays unlisted until its owner sets one."""
    offers = {offer.gpu_model: offer for offer in Offer.objects.filter(host=host)}
    for slug in sorted({recognise_model(gpu.name).slug for gpu in gpus} - offers.keys()):
        offers[slug] = Offer.objects.create(
            host=host,
            gpu_model=slug,
            region=host.region,
            runtime=host.runtime,
            simulated=host.simulated,
            price_micros=first_price_micros,
            disk_micros_gb_day=FIRST_DISK_MICROS_GB_DAY,
            listed=first_price_micros > 0,
        )
        record_price(offer=offers[slug])
    return offers


def _gpu_columns(host: Host, offers: dict[str, Offer], gpu: ReportedGpu) -> dict[str, object]:
    slug = recognise_model(gpu.name).slug
    return {
        "host_id": host.pk,
        "offer_id": offers[slug].pk,
        "model": slug,
        "name": cut_printable(gpu.name, 120),
        "vram_mb": gpu.vram_mb,
        "index": gpu.index,
        "pcie_gen": gpu.pcie_gen,
        "pcie_width": gpu.pcie_width,
        "simulated": gpu.simulated,
        "healthy": gpu.healthy,
        "present": True,
        "detail": cut_printable(gpu.detail, 300),
    }


def _reshape_offers(host: Host) -> None:
    """Write each offer's VRAM and share; a change makes a new version, so that earlier quotes are refused.

    The share counts GPUs that are present or still leased: one that vanishes under a renter keeps its part.
    """
    counted = Q(present=True) | Q(leases__released_at__isnull=True, leases__isnull=False)
    rows = Gpu.objects.filter(counted, host=host).order_by().values_list("pk", "offer_id", "model", "vram_mb").distinct()
    vram: dict[UUID, list[int]] = defaultdict(list)
    for _pk, offer_id, model, vram_mb in rows:
        vram[offer_id].append(nominal_vram_gb(model, vram_mb) * 1024)
    share = share_per_gpu(cpu_cores=host.cpu_cores, ram_mb=host.ram_mb, gpu_count=sum(map(len, vram.values())))
    for offer_id, sizes in vram.items():
        columns = {
            "vram_mb": min(sizes),
            "cpu_millis_per_gpu": share.cpu_millis,
            "ram_mb_per_gpu": share.ram_mb,
        }
        same = Offer.objects.filter(pk=offer_id, **columns)
        Offer.objects.filter(pk=offer_id).exclude(pk__in=same).update(**columns, version=F("version") + 1)
