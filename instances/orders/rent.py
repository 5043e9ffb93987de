"""Renting.

Money is held, GPUs are leased, ports are taken and the instance is written in one transaction, in the documented
order of locks.
"""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from accounts.models import User
from accounts.selectors import ssh_keys_of
from billing.constants import INSTANCE_SOURCE
from billing.ledger.order_log import record_order
from billing.metering.escrow import lock_parties
from billing.pricing.estimates import RESERVED, SPOT, TIERED, UPFRONT
from common import clock
from common.db.prepared import batched_writes, insert
from common.db.transactions import use_case
from common.ids import new_uuid
from instances.constants import DEADLINES, JUPYTER_TOKEN_BYTES
from instances.core.endpoints import check_ports, check_udp, container_ports
from instances.core.host_ports import take_ports
from instances.core.transitions import RENTER, touch_renter, touch_to_run
from instances.metering.meters import hold_for_disk, hold_for_use, open_disk
from instances.metering.reserved_terms import create_term
from instances.models import Instance, InstanceEvent, Quote
from instances.orders.launch_compatibility import check_stored_launch
from instances.orders.quote_claims import ANYTHING, Expected, check_match, claim_quote
from instances.spot.spot_orders import lease_or_wait
from instances.states import InstanceState
from instances.volumes.attach import attach_for_rent
from instances.volumes.transfers import check_can_wait, volumes_to_move
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.leasing.lease import LeasedGpus
from marketplace.pricing.prices import discounted, disk_micros_per_hour

if TYPE_CHECKING:
    from storage.models import Volume

__all__ = ["ANYTHING", "container_ports", "rent_instance"]


def rent_instance(
    *,
    renter: User,
    quote_id: UUID,
    name: str = "",
    ssh_key_ids: Sequence[UUID] | None = None,
    expected: Expected = ANYTHING,
    auto_renew: bool = False,
    extra_ports: Sequence[int] = (),
    udp_ports: Sequence[int] = (),
    volume_ids: Sequence[UUID] = (),
    data_sets: Sequence[str] = (),
) -> Instance:
    """Rent what the quote says, or raise and change nothing.

    With `ssh_key_ids` None, all keys of the renter apply, including later ones. `extra_ports` are container ports to
    be published beside the image's own, `udp_ports` further ones that are published for UDP as well as TCP.
    `volume_ids` are the renter's volumes: those on other hosts of the region are moved first, and the instance is
    *copying* until they have arrived. `data_sets` are public ones on its host. Raises QuoteExpired, QuoteUsed,
    PriceChanged, GpuTaken, InsufficientFunds, LaunchUnsupported, UdpUnsupported, or QuoteMismatch where the quote is not
    what was `expected`.
    """
    with use_case():
        quote = claim_quote(renter, quote_id)
        check_match(quote, expected)
        check_stored_launch(quote.launch, quote.offer.host)
        keys = ssh_keys_of(renter, ssh_key_ids)
        instance = draft_instance(quote)
        instance.name = name or f"{quote.image.slug}-{instance.pk.hex[-6:]}"
        instance.ssh_keys = [key.public_key for key in keys]
        instance.all_keys = ssh_key_ids is None
        _set_money_aside(instance, quote, auto_renew=auto_renew)
        coming = volumes_to_move(renter_id=renter.pk, host_id=instance.host_id, volume_ids=volume_ids)
        _assign_gpus(instance, lease_or_wait(quote=quote, instance_id=instance.pk), coming)
        _open_ports(instance, quote, ports=extra_ports, udp_ports=udp_ports)
        with batched_writes():
            insert(instance)
            insert(InstanceEvent(instance=instance, kind="rented", to_state=instance.state, actor=RENTER))
            _record(instance, quote)
        attach_for_rent(instance, volume_ids=volume_ids, data_sets=data_sets, coming=coming)
        if instance.state != InstanceState.REQUESTED:
            touch_renter(instance)
        else:
            touch_to_run(instance, None if volume_ids or data_sets else ())
    return instance


def gpu_terms(quote: Quote) -> dict[str, object]:
    """Return the prices that an instance takes from its quote: all GPUs per hour, tiers, spot maximum."""
    offer = quote.offer
    disk = disk_micros_per_hour(disk_micros_gb_day=offer.disk_micros_gb_day, data_disk_gb=quote.data_disk_gb)
    rate = quote.rate_micros_per_hour - (0 if quote.for_instance_id else disk)
    steps = [[hours, discounted(offer.price_micros, off_bps) * quote.gpu_count] for hours, off_bps in offer.tiers]
    return {
        "billing_mode": quote.billing_mode,
        "rate_micros_per_hour": rate,
        "tiers": steps if quote.billing_mode == TIERED else [],
        "spot_max_micros": quote.max_price_micros if quote.billing_mode == SPOT else None,
    }


def draft_instance(quote: Quote) -> Instance:
    """Return an unsaved instance without its GPUs and their share of the host."""
    offer, now = quote.offer, clock.now()
    paid_gb = max(0, quote.data_disk_gb - FREE_DATA_DISK_GB)
    instance = Instance(
        id=new_uuid(),
        renter_id=quote.renter_id,
        host=offer.host,
        offer=offer,
        quote=quote,
        image=quote.image,
        launch=quote.launch,
        gpu_count=quote.gpu_count,
        cpu_millis=offer.cpu_millis_per_gpu * quote.gpu_count,
        ram_mb=offer.ram_mb_per_gpu * quote.gpu_count,
        data_disk_gb=quote.data_disk_gb,
        disk_micros_per_day=offer.disk_micros_gb_day * paid_gb,
        jupyter_token=secrets.token_hex(JUPYTER_TOKEN_BYTES) if quote.image.has_jupyter else "",
        created_at=now,
        deadline=now + DEADLINES[InstanceState.REQUESTED],
    )
    for name, value in gpu_terms(quote).items():
        setattr(instance, name, value)
    return instance


def _set_money_aside(instance: Instance, quote: Quote, *, auto_renew: bool) -> None:
    if quote.billing_mode == RESERVED:
        lock_parties(renter_id=instance.renter_id, host_owner_id=instance.host.owner_id)
        create_term(instance=instance, quote=quote, list_unit_micros=quote.offer.price_micros, auto_renew=auto_renew)
    else:
        hold_for_use(instance)
    hold_for_disk(instance)


def _assign_gpus(instance: Instance, leased: LeasedGpus | None, coming: Sequence["Volume"]) -> None:
    """Store the leased GPUs, or let the instance wait for GPUs or for volumes to come.

    While it waits, its money is held and nothing is charged, not even the disk.
    """
    check_can_wait(instance, coming, leased=leased is not None)
    if leased is None:
        instance.state, instance.deadline = InstanceState.WAITING, None
        return
    instance.gpu_uuids, instance.cpu_millis, instance.ram_mb = list(leased.gpu_uuids), leased.cpu_millis, leased.ram_mb
    if coming:
        instance.state, instance.deadline = InstanceState.COPYING, clock.now() + DEADLINES[InstanceState.COPYING]
        return
    open_disk(instance, at=instance.created_at, payee_id=instance.host.owner_id)


def _record(instance: Instance, quote: Quote) -> None:
    record_order(
        owner_id=instance.renter_id,
        kind="rent",
        key=f"rent:{instance.pk.hex}",
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: {instance.gpu_count} × {instance.offer.gpu_model}",
        billing_mode=instance.billing_mode,
        amount_micros=(quote.committed_micros or 0) if quote.payment == UPFRONT else 0,
        rate_micros_per_hour=instance.rate_micros_per_hour,
    )


def _open_ports(instance: Instance, quote: Quote, *, ports: Sequence[int], udp_ports: Sequence[int]) -> None:
    """Take host ports for the image's own ports, those of the template, and those that the order names."""
    host, own = quote.offer.host, container_ports(quote.image)
    of_template, udp_of_template = (
        [port for port in (quote.template or {}).get(kind, []) if port not in own] for kind in ("ports", "udp_ports")
    )
    wanted = [*own, *check_ports([*of_template, *ports], own, udp_ports=[*udp_of_template, *udp_ports])]
    instance.udp_ports = sorted({*udp_of_template, *udp_ports})
    check_udp(host, instance.udp_ports)
    taken = take_ports(
        instance_id=instance.pk, host_id=host.pk, first=host.port_first, last=host.port_last, count=len(wanted)
    )
    instance.ports = list(zip(wanted, taken, strict=True))
