"""JSON of quotes, instances and wait-list entries.

Plain functions make plain dictionaries, since this is on the hot path.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote as quote_url

from billing.people.self_rental import what_pays_host
from billing.pricing.estimates import HOURLY, TIERED
from billing.statements.selectors import StatementLine
from common.addresses import in_url
from common.ids import public_id
from common.message_words import english, told
from common.messages import stored
from common.money import format_money
from instances.constants import CPU_RUN_MICROS_PER_HOUR, JUPYTER_PORT, SSH_PORT, SSH_USER, TENSORBOARD_PORT
from instances.core.endpoints import extra_ports, is_reachable, ports_pending, public_address
from instances.metering.costs import Bill, NextStep
from instances.models import Instance, InstanceEvent, Quote, SpotBid, Term, Watch
from instances.orders.quotes import quote_signature
from instances.retention.gpu_reservation import hold_fee
from instances.states import InstanceState, WatchState
from instances.web.lifecycle.serializers import action_shape, share_shape
from instances.web.schedules.serializers import idle_shape, place_shape, retention_shape, schedule_shape
from marketplace.gpu_catalogue.catalogue import by_slug

INSTANCE_PREFIX, QUOTE_PREFIX, OFFER_PREFIX, HOST_PREFIX = "inst", "quot", "offr", "host"
WATCH_PREFIX = "watch"

Shape = dict[str, Any]


def instance_shape(instance: Instance, bill: Bill, now: datetime, *, opens: bool) -> Shape:
    """Return an instance as JSON; host, offer and image must be loaded.

    What opens it is included only with `opens`.
    """
    model = by_slug(instance.offer.gpu_model)
    held = instance.state != InstanceState.GONE and (instance.holds_gpus or not instance.is_let_go)
    holds = held and not instance.cpu_only
    return {
        "id": public_id(INSTANCE_PREFIX, instance.pk),
        "name": instance.name,
        "state": instance.state,
        "desired": instance.desired,
        "actions": instance.actions,
        "progress": english(instance.progress_message) or instance.progress,
        "progress_message": stored(instance.progress_message),
        "host": _host(instance),
        "offer": public_id(OFFER_PREFIX, instance.offer_id),
        "gpu": {"model": model.name, "slug": model.slug, "count": instance.gpu_count},
        "gpus": [{"uuid": uuid, "model": model.name} for uuid in instance.gpu_uuids] if holds else [],
        **share_shape(instance),
        "image": instance.image.slug,
        "data_disk_gb": instance.data_disk_gb,
        "system_disk_gb": instance.system_disk_gb if instance.offer.system_disk_gb else None,
        "billing": billing_shape(instance, bill),
        "access": access_shape(instance, opens=opens),
        "reachable": is_reachable(instance, now),
        "health": health_of(instance, now),
        "failure": _failure(instance),
        **action_shape(instance),
        "release_at": instance.release_at,
        "retention": retention_shape(instance),
        "locked": instance.locked,
        "schedule": schedule_shape(instance, now),
        "idle_stop": idle_shape(instance),
        "line": place_shape(bill.place),
        "created_at": instance.created_at,
        "started_at": instance.started_at,
        "stopped_at": instance.stopped_at,
        "released_at": instance.released_at,
    }


def billing_shape(instance: Instance, bill: Bill) -> Shape:
    kept = instance.state == InstanceState.STOPPED and instance.holds_gpus
    keepable = instance.billing_mode in (HOURLY, TIERED) and instance.state != InstanceState.GONE
    return {
        "mode": instance.billing_mode,
        "hourly_rate": format_money(bill.rate_micros or instance.rate_micros_per_hour),
        "cpu_hourly_rate": format_money(CPU_RUN_MICROS_PER_HOUR),
        "disk_daily": format_money(instance.disk_micros_per_day),
        "max_price": _money_or_none(instance.spot_max_micros),
        "spot": _spot(bill.bid),
        "term": _term(bill.term or bill.coming, begun=bill.term is not None),
        "next_term": _term(bill.coming if bill.term else None, begun=False),
        "next_step": _next_step(bill.next_step),
        "keeps_gpus": kept,
        "hold_fee": format_money(_hold_fee(instance)) if keepable else None,
        "cost_so_far": format_money(bill.cost.total_micros),
        "next_charge_at": bill.cost.next_charge_at,
    }


def _spot(bid: SpotBid | None) -> Shape | None:
    """Return the bid as JSON, with prices per GPU and hour; a waiting bid pays nothing."""
    if bid is None:
        return None
    return {
        "max_price": format_money(bid.max_price_micros),
        "price": _money_or_none(bid.price_micros),
        "state": bid.state,
        "notice_at": bid.notice_at,
        "yields_at": bid.yields_at,
    }


def _hold_fee(instance: Instance) -> int:
    """Return the hourly fee of keeping the GPUs: the agreed one while they are kept, else the present one."""
    kept = instance.state == InstanceState.STOPPED and instance.holds_gpus
    return instance.hold_micros_per_hour if kept else hold_fee(instance)


def _term(term: Term | None, *, begun: bool) -> Shape | None:
    if term is None:
        return None
    return {
        "term": term.term,
        "payment": term.payment,
        "hourly_rate": format_money(term.unit_micros * term.gpu_count),
        "total": format_money(term.total_micros),
        "starts_at": term.starts_at if begun else None,
        "ends_at": term.ends_at if begun else None,
        "auto_renew": term.auto_renew,
    }


def _next_step(step: NextStep | None) -> Shape | None:
    if step is None:
        return None
    return {
        "from_hours": step.from_hours,
        "hourly_rate": format_money(step.rate_micros),
        "used_hours": step.used_hours,
        "in_hours": step.in_hours,
        "at": step.at,
    }


def access_shape(instance: Instance, *, opens: bool) -> Shape:
    """Return the addresses of an instance, empty when it is gone or its host has no address.

    They are fixed from the order on and answer while it runs. Links that let in whoever has them are included only
    with `opens`.
    """
    address, ports = public_address(instance), dict(instance.ports)
    if instance.state == InstanceState.GONE or not address:
        return {"ssh": None, "jupyter_url": None, "tensorboard_url": None}
    web = in_url(address)
    jupyter, tensorboard = (ports.get(port) if opens else None for port in (JUPYTER_PORT, TENSORBOARD_PORT))
    return {
        "ssh": {
            "host": address,
            "port": ports[SSH_PORT],
            "user": SSH_USER,
            "command": shlex.join(["ssh", "-p", str(ports[SSH_PORT]), f"{SSH_USER}@{address}"]),
        },
        "jupyter_url": jupyter and f"http://{web}:{jupyter}/lab?token={quote_url(instance.jupyter_token)}",
        "tensorboard_url": tensorboard and f"http://{web}:{tensorboard}/",
    }


def access_detail(instance: Instance, *, opens: bool) -> Shape:
    """Return everything about access to an instance: addresses, ports, keys, allowed networks."""
    gone = instance.state == InstanceState.GONE
    return {
        **access_shape(instance, opens=opens),
        "jupyter_token": None if gone or not opens else instance.jupyter_token or None,
        "ports": [] if gone else port_shapes(instance),
        "ports_pending": ports_pending(instance),
        "ssh_keys": instance.ssh_keys,
        "all_keys": instance.all_keys,
        "password_set_at": instance.password_set_at,
        "allow_from": instance.allow_from,
        "allow_from_kept": instance.host.keeps_ssh_list,
    }


def port_shapes(instance: Instance) -> list[Shape]:
    extra = dict(extra_ports(instance))
    return [{"container": inside, "host": outside, "extra": inside in extra} for inside, outside in instance.ports]


def health_of(instance: Instance, now: datetime) -> str:
    """Return the instance's health.

    It is `ok`, `unreachable` (its host is silent), `overdue` (the present step takes too long), `failed` or `gone`.
    """
    if instance.state in (InstanceState.FAILED, InstanceState.GONE):
        return str(instance.state)
    if not is_reachable(instance, now):
        return "unreachable"
    return "overdue" if instance.deadline is not None and instance.deadline <= now else "ok"


def quote_shape(quote: Quote) -> Shape:
    return {
        "id": public_id(QUOTE_PREFIX, quote.pk),
        "offer": public_id(OFFER_PREFIX, quote.offer_id),
        "gpu_count": quote.gpu_count,
        "billing_mode": quote.billing_mode,
        "image": quote.image.slug,
        "data_disk_gb": quote.data_disk_gb,
        "system_disk_gb": quote.system_disk_gb or None,
        "hours": quote.hours,
        "term": quote.term or None,
        "payment": quote.payment or None,
        "max_price": _money_or_none(quote.max_price_micros),
        "lines": quote.lines,
        "due_now": format_money(quote.due_now_micros),
        "hourly_rate": format_money(quote.rate_micros_per_hour),
        "projected_total": format_money(quote.projected_micros),
        "commitment_total": _money_or_none(quote.committed_micros),
        "deposit": format_money(quote.deposit_micros),
        "pays_host": what_pays_host(payer_id=quote.renter_id, owner_id=quote.offer.host.owner_id),
        "instance": quote.for_instance_id and public_id(INSTANCE_PREFIX, quote.for_instance_id),
        "signature": quote_signature(quote),
        "created_at": quote.created_at,
        "expires_at": quote.expires_at,
        "used_at": quote.used_at,
    }


def _money_or_none(micros: int | None) -> str | None:
    return None if micros is None else format_money(micros)


def event_shape(event: InstanceEvent) -> Shape:
    return {
        "kind": event.kind,
        "from_state": event.from_state or None,
        "to_state": event.to_state or None,
        **told(event.message, event.detail),
        "actor": event.actor,
        "at": event.at,
    }


def usage_shape(instance: Instance, bill: Bill, lines: Sequence[StatementLine]) -> Shape:
    """Return the costs of an instance: charges by the hour, and what has accrued since the last one."""
    cost = bill.cost
    return {
        **billing_shape(instance, bill),
        "settled": format_money(cost.settled_micros),
        "accrued": format_money(cost.accrued_micros),
        "given_back": format_money(cost.credited_micros),
        "seconds": cost.seconds,
        "lines": [_charge(line) for line in lines],
    }


def watch_shape(watch: Watch, ahead: int, held_micros: int) -> Shape:
    """Return a wait-list entry as JSON; its image must be loaded."""
    waits = watch.state == WatchState.WAITING
    return {
        "id": public_id(WATCH_PREFIX, watch.pk),
        "q": watch.line,
        "action": watch.action,
        "state": watch.state,
        "ahead": ahead if waits else None,
        "gpu_count": watch.gpu_count,
        "image": watch.image.slug if watch.image else None,
        "max_price": None if watch.max_price_micros is None else format_money(watch.max_price_micros),
        "data_disk_gb": watch.data_disk_gb,
        "name": watch.name,
        "held": format_money(held_micros),
        "offer": watch.offer_id and public_id(OFFER_PREFIX, watch.offer_id),
        "instance": watch.instance_id and public_id(INSTANCE_PREFIX, watch.instance_id),
        "reason": watch.detail or None,
        "created_at": watch.created_at,
        "expires_at": watch.expires_at,
        "ended_at": watch.ended_at,
    }


def _charge(line: StatementLine) -> Shape:
    return {
        "at": line.at,
        "what": line.what,
        "source_kind": line.source_kind,
        "period_from": line.period_from,
        "period_to": line.period_to,
        "seconds": line.seconds,
        "hourly_rate": _money_or_none(line.rate_micros_per_hour),
        "rate": _money_or_none(line.rate_micros),
        "per": line.unit or None,
        "amount": format_money(line.amount_micros),
    }


def _host(instance: Instance) -> Shape:
    host = instance.host
    return {
        "id": public_id(HOST_PREFIX, host.pk),
        "name": host.name,
        "region": host.region,
        "verified": host.verified,
        "runtime": host.runtime,
        "simulated": host.simulated,
    }


def _failure(instance: Instance) -> Shape | None:
    if not instance.failure_code:
        return None
    said = told(instance.failure_message, instance.failure_detail)
    return {"code": instance.failure_code, **said, "fault_of": instance.fault_of}
