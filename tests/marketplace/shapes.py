"""Hosts to test with: any shape, enrolled for any owner, and holders that lease on them."""

import dataclasses
from typing import Any
from uuid import UUID, uuid4

from accounts.models import User
from common.db.transactions import use_case
from marketplace.hosts.hosts import ReportedGpu, ReportedHost, enrol_host
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.leasing.lease import LeasedGpus, lease_gpus
from marketplace.models import Host, Offer

PRICE = 2_000_000
RTX = "NVIDIA GeForce RTX 4090"


def gpu(name: str = RTX, vram_mb: int = 24_564, **changes: Any) -> ReportedGpu:
    return dataclasses.replace(ReportedGpu(uuid=f"GPU-{uuid4()}", name=name, vram_mb=vram_mb), **changes)


def shape(gpus: int | list[ReportedGpu] = 2, **changes: Any) -> ReportedHost:
    found = [gpu(index=n) for n in range(gpus)] if isinstance(gpus, int) else gpus
    return dataclasses.replace(
        ReportedHost(
            hostname="rig",
            runtime="docker",
            runtime_version="27.1",
            kernel="6.1",
            cpu_model="EPYC",
            cpu_cores=32,
            ram_mb=131_072,
            disk_total_gb=2_000,
            disk_free_gb=1_500,
            disk_kind="nvme",
            driver="550.54",
            cuda="12.4",
            gpus=found,
            port_first=40_000,
            port_last=40_999,
            address="198.51.100.7",
        ),
        **changes,
    )


def enrolled(
    owner: User,
    gpus: int | list[ReportedGpu] = 2,
    *,
    name: str = "rig",
    region: str = "eu",
    price: int = PRICE,
    **changes: Any,
) -> Host:
    _, secret = issue_join_token(owner=owner, host_name=name, region=region, price_micros=price)
    return enrol_host(token=secret, shape=shape(gpus, **changes), agent_version="0.1.0")


def offer_of(host: Host) -> Offer:
    """The host's one offer, as it stands in the table now."""
    return Offer.objects.get(host=host)


def leased(offer: Offer, count: int = 1, *, holder: UUID | None = None, **rest: Any) -> LeasedGpus:
    """A whole use case of a holder's: its refusal undoes nothing else of the test."""
    rest.setdefault("expected_version", None)
    with use_case():
        return lease_gpus(offer_id=offer.pk, count=count, holder=holder or uuid4(), **rest)
