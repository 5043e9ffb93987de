"""Quotes and instances as the API shows them: plain functions to plain dictionaries, since they are on the hot path."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote as quote_url

from billing.selectors import Cost
from common.ids import public_id
from common.money import format_money
from instances.models import Instance, InstanceEvent, Quote, Watch
from instances.policy import JUPYTER_PORT, SSH_PORT, SSH_USER, TENSORBOARD_PORT
from instances.selectors import Sample
from instances.signatures import quote_signature
from instances.states import InstanceState, WatchState
from marketplace.catalogue import by_slug
from marketplace.policy import HOST_SILENT_AFTER
from marketplace.states import HostState

INSTANCE_PREFIX, QUOTE_PREFIX, OFFER_PREFIX, HOST_PREFIX = "inst", "quot", "offr", "host"
WATCH_PREFIX = "watch"

Shape = dict[str, Any]


def instance_shape(instance: Instance, cost: Cost, now: datetime) -> Shape:
    """An instance with its host, offer and image loaded."""
    model = by_slug(instance.offer.gpu_model)
    holds = instance.state != InstanceState.GONE and not instance.is_let_go
    return {
        "id": public_id(INSTANCE_PREFIX, instance.pk),
        "name": instance.name,
        "state": instance.state,
        "desired": instance.desired,
        "actions": instance.actions,
        "progress": instance.progress,
        "host": _host(instance),
        "offer": public_id(OFFER_PREFIX, instance.offer_id),
        "gpu": {"model": model.name, "slug": model.slug, "count": instance.gpu_count},
        "gpus": [{"uuid": uuid, "model": model.name} for uuid in instance.gpu_uuids] if holds else [],
        "cpu_cores": instance.cpu_millis / 1000,
        "ram_gb": round(instance.ram_mb / 1024, 1),
        "image": instance.image.slug,
        "data_disk_gb": instance.data_disk_gb,
        "billing": billing_shape(instance, cost),
        "access": access_shape(instance),
        "reachable": is_reachable(instance, now),
        "health": health_of(instance, now),
        "failure": _failure(instance),
        "release_at": instance.release_at,
        "created_at": instance.created_at,
        "started_at": instance.started_at,
        "stopped_at": instance.stopped_at,
        "released_at": instance.released_at,
    }


def billing_shape(instance: Instance, cost: Cost) -> Shape:
    return {
        "mode": instance.billing_mode,
        "hourly_rate": format_money(instance.rate_micros_per_hour),
        "cost_so_far": format_money(cost.total_micros),
        "next_charge_at": cost.next_charge_at,
    }


def access_shape(instance: Instance) -> Shape:
    """How to get in; empty when it is gone. The addresses stand from the order on and answer while it runs."""
    if instance.state == InstanceState.GONE:
        return {"ssh": None, "jupyter_url": None, "tensorboard_url": None}
    address, ports = instance.host.address, dict(instance.ports)
    web = f"[{address}]" if ":" in address else address
    jupyter, tensorboard = ports.get(JUPYTER_PORT), ports.get(TENSORBOARD_PORT)
    return {
        "ssh": {
            "host": address,
            "port": ports[SSH_PORT],
            "user": SSH_USER,
            "command": f"ssh -p {ports[SSH_PORT]} {SSH_USER}@{address}",
        },
        "jupyter_url": jupyter and f"http://{web}:{jupyter}/lab?token={quote_url(instance.jupyter_token)}",
        "tensorboard_url": tensorboard and f"http://{web}:{tensorboard}/",
    }


def access_detail(instance: Instance) -> Shape:
    """All that a renter needs to get in, with the keys that were copied at rent."""
    gone = instance.state == InstanceState.GONE
    return {
        **access_shape(instance),
        "jupyter_token": None if gone else instance.jupyter_token or None,
        "ports": [] if gone else [{"container": inside, "host": outside} for inside, outside in instance.ports],
        "ssh_keys": instance.ssh_keys,
    }


def is_reachable(instance: Instance, now: datetime) -> bool:
    """Whether its host reports; silence of the host never changes the instance's own state."""
    host = instance.host
    return host.state == HostState.ONLINE and now - host.last_seen_at < HOST_SILENT_AFTER


def health_of(instance: Instance, now: datetime) -> str:
    """`ok`, `unreachable` (its host is silent), `overdue` (the present step takes too long), `failed` or `gone`."""
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
        "hours": quote.hours,
        "term": quote.term or None,
        "payment": quote.payment or None,
        "max_price": _money_or_none(quote.max_price_micros),
        "lines": quote.lines,
        "due_now": format_money(quote.due_now_micros),
        "hourly_rate": format_money(quote.rate_micros_per_hour),
        "projected_total": format_money(quote.projected_micros),
        "commitment_total": _money_or_none(quote.committed_micros),
        "orderable": quote.is_orderable,
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
        "detail": event.detail,
        "actor": event.actor,
        "at": event.at,
    }


def usage_shape(instance: Instance, cost: Cost, charges: Iterable[Any]) -> Shape:
    """What it has cost: charged hour by hour, and accrued since the last charge."""
    return {
        **billing_shape(instance, cost),
        "settled": format_money(cost.settled_micros),
        "accrued": format_money(cost.accrued_micros),
        "given_back": format_money(cost.credited_micros),
        "seconds": cost.seconds,
        "lines": [_charge(entry) for entry in charges],
    }


def watch_shape(watch: Watch, ahead: int, held_micros: int) -> Shape:
    """A place in the wait list with its image loaded."""
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


def metrics_shape(samples: Sequence[Sample]) -> Shape:
    return {"points": [vars(sample) for sample in samples]}


def _charge(entry: Any) -> Shape:
    posting = entry.posting
    return {
        "at": posting.created_at,
        "what": posting.memo,
        "period_from": posting.period_from,
        "period_to": posting.period_to,
        "seconds": (posting.period_to - posting.period_from).total_seconds(),
        "hourly_rate": format_money(posting.rate_micros_per_hour),
        "amount": format_money(entry.amount_micros),
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
    return {"code": instance.failure_code, "detail": instance.failure_detail, "fault_of": instance.fault_of}
