"""Clones and migrations of instances: quoted and paid like a rent, then copied by the hosts."""

import secrets
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.ledger.order_log import record_order
from billing.pricing.estimates import HOURLY, TIERED
from common import clock
from common.db.transactions import use_case
from common.errors import IllegalTransition, InvalidInput, wrong_field
from common.messages.message import Change, Name
from common.messages.rendering import columns
from common.money import format_money
from instances.access.guards import check_allow_list_enforced
from instances.constants import DEADLINES, MOVE_WITHIN
from instances.core.endpoints import check_udp
from instances.core.host_ports import take_ports
from instances.core.selectors import instance_of
from instances.core.stream_tickets import peer_ticket
from instances.core.transitions import RENTER, change_state, check_action
from instances.errors import QuoteMismatch
from instances.metering.meters import hold_for_disk, hold_for_use
from instances.models import Instance, InstanceEvent, Move, Quote
from instances.orders.launch_compatibility import changed_launch, check_stored_launch
from instances.orders.quote_claims import claim_quote
from instances.orders.quotes import QuoteRequest, check_offer, draft_quote, plan_of
from instances.orders.rent import container_ports, draft_instance, gpu_terms
from instances.states import InstanceState, MoveKind
from instances.transfers.selectors import open_transfer
from instances.volumes.attach import check_not_restoring
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.errors import PriceChanged
from marketplace.leasing.lease import LeasedGpus, lease_gpus
from marketplace.leasing.offer_selectors import offer_view
from storage.errors import VolumeBusy
from storage.images.selectors import unpacked_bytes
from storage.object_sync.selectors import running_syncs
from storage.operations.services import request_operation
from storage.volumes.selectors import mounts_of

COPY: Final = "copy_root"
SEND: Final = "send_root"
RECEIVE: Final = "receive_root"
_MODES: Final = (HOURLY, TIERED)
_KEY_BYTES: Final = 32
_GIB: Final = 1024**3


@dataclass(frozen=True)
class Destination:
    """Destination: a quote, or an offer at its present hourly price.

    `max_rate_micros` limits the price of everything per hour. Offer and number of GPUs: by default the source's.
    """

    quote_id: UUID | None = None
    offer_id: UUID | None = None
    gpu_count: int | None = None
    max_rate_micros: int | None = None


def quote_transfer(*, renter: User, instance_id: UUID, verb: str, to: Destination, data_disk: bool = True) -> Quote:
    """Return an unsaved quote of a transfer.

    Raises what the order would raise, except for missing money and GPUs taken by others.
    """
    source = instance_of(renter, instance_id)
    _check_allowed(source, verb, to)
    quote = _draft(source, to, data_disk_gb=source.data_disk_gb if data_disk else 0)
    check_udp(quote.offer.host, source.udp_ports if verb == "migrate" else ())
    return quote


def clone_instance(
    *,
    renter: User,
    instance_id: UUID,
    to: Destination,
    data_disk: bool = True,
    name: str = "",
    launch: Mapping[str, Any] | None = None,
) -> Instance:
    """Clone a stopped instance into a new one, with a copy of its data disk or without.

    The clone is rented at once, on its own GPUs; it starts, and is charged, when everything has been copied. Its
    launch settings are those of the quote, else of the source, with the changes in `launch`. Raises what a rent raises,
    and IllegalTransition.
    """
    with use_case():
        source = instance_of(renter, instance_id)
        _check_allowed(source, "clone", to)
        quote = _claim_transfer_quote(renter, source, to, data_disk_gb=source.data_disk_gb if data_disk else None)
        target = draft_instance(quote)
        target.launch = changed_launch(quote.launch or source.launch, launch, target)
        target.name = (name or f"{source.name}-clone")[:80]
        target.ssh_keys, target.all_keys = source.ssh_keys, source.all_keys
        target.allow_from = source.allow_from
        target.state, target.deadline = InstanceState.COPYING, clock.now() + DEADLINES[InstanceState.COPYING]
        target.brought_root = target.root_number
        carries_disk = target.data_disk_made = data_disk and source.data_disk_made
        hold_for_use(target)
        hold_for_disk(target)
        leased = _lease(quote, target.pk)
        target.gpu_uuids, target.cpu_millis, target.ram_mb = list(leased.gpu_uuids), leased.cpu_millis, leased.ram_mb
        target.ports = _ports(quote, target.pk, container_ports(quote.image))
        target.save(force_insert=True)
        origin = columns("detail", Name(name=source.name))
        InstanceEvent.objects.create(instance=target, kind="cloned_from", to_state=target.state, actor=RENTER, **origin)
        _record(target, quote, kind="rent", key=f"rent:{target.pk.hex}")
        row = _insert_transfer(MoveKind.CLONE, source, target, quote, leased, carries_disk=carries_disk)
        change_state(source, InstanceState.COPYING, kind="clone_asked", actor=RENTER, detail=Name(name=target.name))
        _request_copying(row, source, number=0)
    return target


def migrate_instance(*, renter: User, instance_id: UUID, to: Destination) -> Instance:
    """Migrate a stopped instance to another host, with its id, name, history, root and data disk.

    It stays as it is on its host until it has run on the new one. Raises what a rent raises, and IllegalTransition.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        _check_allowed(instance, "migrate", to)
        quote = _claim_transfer_quote(renter, instance, to, data_disk_gb=instance.data_disk_gb)
        check_udp(quote.offer.host, instance.udp_ports)
        there = _as_migrated(instance, quote)
        hold_for_use(there)
        leased = _lease(quote, instance.pk)
        there.ports = _ports(quote, instance.pk, [inside for inside, _outside in instance.ports])
        row = _insert_transfer(MoveKind.MIGRATE, instance, instance, quote, leased, carries_disk=instance.data_disk_made)
        row.before, row.after = (
            host_columns(instance),
            host_columns(there)
            | {
                "gpu_uuids": list(leased.gpu_uuids),
                "cpu_millis": leased.cpu_millis,
                "ram_mb": leased.ram_mb,
                "run_generation": instance.run_generation + 1,
                "fence": instance.fence + 1,
            },
        )
        row.save(update_fields=["before", "after"])
        detail = Change(before=instance.host.name, after=quote.offer.host.name)
        change_state(instance, InstanceState.COPYING, kind="move_asked", actor=RENTER, detail=detail)
        _request_copying(row, instance, number=instance.run_generation)
    return instance


def host_columns(instance: Instance) -> dict[str, Any]:
    """Return the columns that depend on the instance's host and prices."""
    return {
        "host_id": instance.host_id.hex,
        "offer_id": instance.offer_id.hex,
        "billing_mode": instance.billing_mode,
        "rate_micros_per_hour": instance.rate_micros_per_hour,
        "tiers": instance.tiers,
        "gpu_count": instance.gpu_count,
        "gpu_uuids": instance.gpu_uuids,
        "cpu_millis": instance.cpu_millis,
        "ram_mb": instance.ram_mb,
        "disk_micros_per_day": instance.disk_micros_per_day,
        "ports": [[inside, outside] for inside, outside in instance.ports],
        "brought_root": instance.brought_root,
        "run_generation": instance.run_generation,
        "fence": instance.fence,
    }


def _as_migrated(instance: Instance, quote: Quote) -> Instance:
    """Return a copy of the instance as it will be on the other host; the row is not changed."""
    there = copy(instance)
    there.offer, there.host, there.gpu_count = quote.offer, quote.offer.host, quote.gpu_count
    for name, value in gpu_terms(quote).items():
        setattr(there, name, value)
    there.disk_micros_per_day = quote.offer.disk_micros_gb_day * max(0, instance.data_disk_gb - FREE_DATA_DISK_GB)
    there.brought_root = instance.root_number
    return there


def _check_allowed(source: Instance, verb: str, to: Destination) -> None:
    check_action(source, verb)
    if source.awaits_root:
        raise IllegalTransition("Its new system disk hasn't run yet: start it once, then stop it.", actions=source.actions)
    if open_transfer(source.pk) is not None:
        raise IllegalTransition("The last migration is still being cleaned up; try again soon.", actions=source.actions)
    check_not_restoring(source)
    if source.pk in running_syncs([source.pk]):
        raise VolumeBusy(
            "Its data disk is being copied to or from object storage. Cancel that sync, or wait until it has finished."
        )
    if verb != "migrate":
        return
    if source.billing_mode not in _MODES or source.holds_gpus:
        raise IllegalTransition(
            "Only on-demand or tiered instances without kept GPUs can move: change the mode or release the GPUs first.",
            actions=source.actions,
        )
    if mounts_of(source.pk):
        raise IllegalTransition("Volumes and datasets stay on their host: detach them first.", actions=source.actions)
    if to.quote_id is None and to.offer_id in (None, source.offer_id):
        raise wrong_field("offer", _("Choose an offer on another host."))


def _claim_transfer_quote(renter: User, source: Instance, to: Destination, *, data_disk_gb: int | None) -> Quote:
    """Return the quote of the transfer, marked as used.

    With `data_disk_gb` None, the clone gets a fresh disk of any size.
    """
    if to.quote_id is None:
        quote = _draft(source, to, data_disk_gb=data_disk_gb or 0)
        quote.used_at = clock.now()
        quote.save(force_insert=True)
    else:
        quote = claim_quote(renter, to.quote_id)
        _check_quote(source, quote, data_disk_gb)
    if to.max_rate_micros is not None and quote.rate_micros_per_hour > to.max_rate_micros:
        now = format_money(quote.rate_micros_per_hour)
        raise PriceChanged(f"It now costs {now} per hour, more than max_hourly_rate allows.", hourly_rate=now)
    check_allow_list_enforced(quote.offer.host, source.allow_from)
    check_stored_launch(source.launch, quote.offer.host)
    return quote


def _check_quote(source: Instance, quote: Quote, data_disk_gb: int | None) -> None:
    if quote.image_id != source.image_id:
        raise QuoteMismatch("The quote is for a different image than the instance's.")
    if data_disk_gb is not None and quote.data_disk_gb != data_disk_gb:
        raise QuoteMismatch(
            f"The quote is for a data disk of {quote.data_disk_gb} GB; the instance's has {data_disk_gb} GB."
        )
    if quote.billing_mode not in _MODES:
        raise InvalidInput("Clones and moves use on-demand or tiered billing; you can change the mode afterwards.")


def _draft(source: Instance, to: Destination, *, data_disk_gb: int) -> Quote:
    offer = offer_view(to.offer_id or source.offer_id)
    count = to.gpu_count or source.gpu_count
    request = QuoteRequest(HOURLY, "", "", None, 1)
    plan = plan_of(offer, request)
    check_offer(offer, source.image, gpu_count=count, data_disk_gb=data_disk_gb)
    quote = draft_quote(offer, request, plan, gpu_count=count, data_disk_gb=data_disk_gb)
    quote.renter_id, quote.image = source.renter_id, source.image
    quote.template_version, quote.template = source.quote.template_version, source.quote.template
    return quote


def _lease(quote: Quote, holder: UUID) -> LeasedGpus:
    return lease_gpus(offer_id=quote.offer_id, count=quote.gpu_count, holder=holder, expected_version=quote.offer_version)


def _ports(quote: Quote, instance_id: UUID, inside: list[int]) -> list[tuple[int, int]]:
    host = quote.offer.host
    taken = take_ports(
        instance_id=instance_id, host_id=host.pk, first=host.port_first, last=host.port_last, count=len(inside)
    )
    return list(zip(inside, taken, strict=True))


def _insert_transfer(
    kind: MoveKind, source: Instance, target: Instance, quote: Quote, leased: LeasedGpus, *, carries_disk: bool
) -> Move:
    if kind == MoveKind.MIGRATE and quote.offer.host_id == source.host_id:
        raise wrong_field("offer", _("Choose an offer on another host."))
    return Move.objects.create(
        kind=kind,
        renter_id=source.renter_id,
        source=source,
        target=target,
        quote=quote,
        from_host_id=source.host_id,
        to_host_id=quote.offer.host_id,
        to_offer_id=quote.offer_id,
        with_data_disk=carries_disk,
        gpu_uuids=list(leased.gpu_uuids),
    )


def _request_copying(row: Move, source: Instance, *, number: int) -> None:
    """Request the copying operations.

    One host copies alone; two meet at the relay, with a key that only they receive.
    """
    args = {
        "source": row.source_id.hex,
        "target": row.target_id.hex,
        "number": str(number),
        "disk_gb": str(source.data_disk_gb if row.with_data_disk else 0),
    }
    if row.from_host_id == row.to_host_id:
        _request_operation(row, row.from_host_id, COPY, args)
        return
    # the most that the receiver accepts, since the other host may send anything
    args["root_bytes"] = str(unpacked_bytes(source.image) + source.system_disk_gb * _GIB)
    args["image"] = source.image.reference  # the receiving host may have its layers already
    args["pair"], key = row.pk.hex, secrets.token_hex(_KEY_BYTES)
    args |= _direct_address(row)
    for kind, host_id, side in ((SEND, row.from_host_id, "source"), (RECEIVE, row.to_host_id, "target")):
        ticket = peer_ticket(pair=row.pk, host_id=host_id, side=side, lifetime=MOVE_WITHIN + timedelta(minutes=5))
        _request_operation(row, host_id, kind, args, {"ticket": ticket, "key": key})


def _direct_address(row: Move) -> dict[str, str]:
    """Return where the sender may call the new host directly: at a port of the arriving instance.

    A host behind NAT has no address. A private address is dialled only between hosts of one owner: that of another
    could lead to whatever the sending host reaches there.
    """
    there = row.to_host
    ports = row.after["ports"] if row.kind == MoveKind.MIGRATE else row.target.ports
    if there.behind_nat or not ports:
        return {}
    private = there.owner_id == row.from_host.owner_id
    return {"direct_address": there.address, "direct_port": str(ports[0][1]), "direct_private": str(int(private))}


def _request_operation(
    row: Move, host_id: UUID, kind: str, args: dict[str, str], secret_values: dict[str, str] | None = None
) -> None:
    request_operation(
        host_id=host_id,
        owner_id=row.renter_id,
        kind=kind,
        subject=row.pk,
        args=args,
        secrets=secret_values,
        within=MOVE_WITHIN,
    )


def _record(instance: Instance, quote: Quote, *, kind: str, key: str) -> None:
    record_order(
        owner_id=instance.renter_id,
        kind=kind,
        key=key,
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: {instance.gpu_count} × {quote.offer.gpu_model}",
        billing_mode=instance.billing_mode,
        rate_micros_per_hour=instance.rate_micros_per_hour,
    )
