"""Responses about quotes, instances, events and charges."""

from datetime import datetime
from typing import Annotated, Any

from billing.people.self_rental import payable_money_of
from common.http.message_schema import MessageOut
from common.ids import public_id
from common.messages.message import stored
from common.messages.rendering import english, message_fields
from common.money import format_money, money_or_none
from common.resources import OneOf, resource
from instances.core.endpoints import is_reachable
from instances.metering.costs import InstanceCost
from instances.models import Instance, InstanceEvent, Quote
from instances.orders.quotes import quote_signature
from instances.states import InstanceState
from instances.web.access.serializers import InstanceAccess, access_resource
from instances.web.launch.serializers import LaunchOut, LaunchStatusOut, launch_resource, launch_status_resource
from instances.web.lifecycle.serializers import InstanceReimage, InstanceSetback, reimage_resource, setback_resource
from instances.web.metering.serializers import InstanceBilling, billing_resource
from instances.web.schedules.serializers import (
    IdleStop,
    PlaceInLine,
    Retention,
    Schedule,
    idle_stop_resource,
    queue_place_resource,
    retention_resource,
    schedule_resource,
)
from marketplace.gpu_catalogue.catalogue import by_slug


@resource
class QuoteLine:
    """One line of the projection."""

    item: str
    quantity: str
    unit: str
    unit_price: str
    amount: str


@resource
class TemplateRef:
    """The version of a launch template in use."""

    id: str
    slug: str
    title: str
    version: Annotated[str, "The first digits of the SHA-256 of its content"]


@resource
class QuoteOut:
    """An all-in price, valid for one order until `expires_at`."""

    id: str
    offer: str
    gpu_count: int
    billing_mode: str
    image: str
    data_disk_gb: int
    system_disk_gb: Annotated[int | None, "Hard limit of the system disk, image not included; null: no limit on this host"]
    hours: int
    term: str | None
    payment: str | None
    max_price: Annotated[str | None, "Per GPU and hour"]
    lines: Annotated[list[QuoteLine], "They add up to the projection"]
    due_now: Annotated[
        str, "Held at the order, then charged per second of confirmed running time; the full amount for a term paid upfront"
    ]
    hourly_rate: Annotated[str, "Initial rate for all GPUs, disk included; for a change in place, for the GPUs only"]
    projected_total: Annotated[str, "For `hours`; a term paid upfront counts in full"]
    commitment_total: Annotated[str | None, "For a reserved quote: cost of the GPUs for the whole term, used or not"]
    deposit: Annotated[str, "Part of due_now held until a term paid hourly ends, to cover an early termination"]
    pays_host: Annotated[
        str,
        OneOf(["all", "cash", "nothing"]),
        "What the host owner is paid of it: `nothing` for their own rentals, only `cash` for those of team members",
    ]
    launch: Annotated[LaunchOut | None, "Launch settings of the order"]
    launch_template: Annotated[TemplateRef | None, "The template of the launch settings"]
    instance: Annotated[str | None, "The instance, for a change in place"]
    signature: Annotated[str, "Signature of these terms; send it with the order to have it verified"]
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None


@resource
class InstanceHost:
    """Where the instance runs."""

    id: str
    name: str
    region: str
    verified: bool
    runtime: str
    simulated: bool


@resource
class InstanceGpuModel:
    """Model and number of the instance's GPUs."""

    model: str
    slug: str
    count: int


@resource
class InstanceGpu:
    """A GPU that is leased to the instance now."""

    uuid: str
    model: str


@resource
class InstanceFailure:
    """Why the instance failed."""

    code: str
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]
    fault_of: Annotated[str, OneOf(["renter", "host", "platform", "nobody"])]


@resource
class InstanceOut:
    """An instance."""

    id: str
    name: str
    state: str
    desired: str
    actions: Annotated[list[str], "Actions that are possible now"]
    progress: str
    progress_message: Annotated[dict[str, Any] | None, MessageOut]
    host: InstanceHost
    offer: str
    gpu: InstanceGpuModel
    gpus: list[InstanceGpu]
    cpu_cores: float
    ram_gb: float
    image: str
    data_disk_gb: int
    system_disk_gb: Annotated[int | None, "Hard limit of the system disk, image not included; null: no limit on this host"]
    billing: InstanceBilling
    access: InstanceAccess
    reachable: Annotated[bool, "false while its host is not responding"]
    health: Annotated[str, "ok, unreachable, overdue, failed or gone"]
    failure: InstanceFailure | None
    without_gpu: Annotated[bool, "true: it currently runs without GPUs"]
    reimage: InstanceReimage | None
    setback: InstanceSetback | None
    release_at: Annotated[datetime | None, "When the data of a stopped instance is deleted"]
    retention: Retention | None
    locked: bool
    schedule: Schedule
    idle_stop: Annotated[dict[str, Any] | None, IdleStop]
    launch: LaunchOut | None
    launch_template: Annotated[TemplateRef | None, "The template version it was rented with"]
    launch_status: LaunchStatusOut | None
    line: PlaceInLine | None
    created_at: datetime
    started_at: datetime | None
    stopped_at: datetime | None
    released_at: datetime | None


@resource
class EventOut:
    """An event of an instance."""

    kind: str
    from_state: str | None
    to_state: str | None
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]
    actor: str
    at: datetime


_MIB_PER_GIB = 1024
INSTANCE_PREFIX, QUOTE_PREFIX, OFFER_PREFIX, HOST_PREFIX = "inst", "quot", "offr", "host"


def instance_resource(instance: Instance, bill: InstanceCost, now: datetime, *, opens: bool) -> InstanceOut:
    """Return an instance; host, offer and image must be loaded.

    What opens it is included only with `opens`.
    """
    model = by_slug(instance.offer.gpu_model)
    held = instance.state != InstanceState.GONE and (instance.holds_gpus or not instance.is_proven_stopped)
    holds = held and not instance.cpu_only
    return InstanceOut(
        id=public_id(INSTANCE_PREFIX, instance.pk),
        name=instance.name,
        state=instance.state,
        desired=instance.desired,
        actions=instance.actions,
        progress=english(instance.progress_message) or instance.progress,
        progress_message=stored(instance.progress_message),
        host=_host(instance),
        offer=public_id(OFFER_PREFIX, instance.offer_id),
        gpu=InstanceGpuModel(model=model.name, slug=model.slug, count=instance.gpu_count),
        gpus=[InstanceGpu(uuid=uuid, model=model.name) for uuid in instance.gpu_uuids] if holds else [],
        cpu_cores=instance.present_cpu_millis / 1000,
        ram_gb=round(instance.present_ram_mb / _MIB_PER_GIB, 1),
        image=instance.image.slug,
        data_disk_gb=instance.data_disk_gb,
        system_disk_gb=instance.system_disk_gb if instance.offer.system_disk_gb else None,
        billing=billing_resource(instance, bill),
        access=access_resource(instance, opens=opens),
        reachable=is_reachable(instance, now),
        health=health_of(instance, now),
        failure=_failure(instance),
        without_gpu=instance.runs_without_gpus,
        reimage=reimage_resource(instance),
        setback=setback_resource(instance),
        release_at=instance.release_at,
        retention=retention_resource(instance),
        locked=instance.locked,
        schedule=schedule_resource(instance, now),
        idle_stop=idle_stop_resource(instance),
        launch=launch_resource(instance.launch),
        launch_template=template_ref(instance.quote),
        launch_status=launch_status_resource(instance),
        line=queue_place_resource(bill.place),
        created_at=instance.created_at,
        started_at=instance.started_at,
        stopped_at=instance.stopped_at,
        released_at=instance.released_at,
    )


def health_of(instance: Instance, now: datetime) -> str:
    """Return the instance's health.

    It is `ok`, `unreachable` (its host is silent), `overdue` (the present step takes too long), `failed` or `gone`.
    """
    if instance.state in (InstanceState.FAILED, InstanceState.GONE):
        return str(instance.state)
    if not is_reachable(instance, now):
        return "unreachable"
    return "overdue" if instance.deadline is not None and instance.deadline <= now else "ok"


def quote_resource(quote: Quote) -> QuoteOut:
    return QuoteOut(
        id=public_id(QUOTE_PREFIX, quote.pk),
        offer=public_id(OFFER_PREFIX, quote.offer_id),
        gpu_count=quote.gpu_count,
        billing_mode=quote.billing_mode,
        image=quote.image.slug,
        data_disk_gb=quote.data_disk_gb,
        system_disk_gb=quote.system_disk_gb or None,
        hours=quote.hours,
        term=quote.term or None,
        payment=quote.payment or None,
        max_price=money_or_none(quote.max_price_micros),
        lines=quote.lines,
        due_now=format_money(quote.due_now_micros),
        hourly_rate=format_money(quote.rate_micros_per_hour),
        projected_total=format_money(quote.projected_micros),
        commitment_total=money_or_none(quote.committed_micros),
        deposit=format_money(quote.deposit_micros),
        pays_host=payable_money_of(payer_id=quote.renter_id, owner_id=quote.offer.host.owner_id),
        launch=launch_resource(quote.launch),
        launch_template=template_ref(quote),
        instance=public_id(INSTANCE_PREFIX, quote.for_instance_id) if quote.for_instance_id else None,
        signature=quote_signature(quote),
        created_at=quote.created_at,
        expires_at=quote.expires_at,
        used_at=quote.used_at,
    )


def template_ref(quote: Quote) -> TemplateRef | None:
    agreed = quote.template
    return None if agreed is None else TemplateRef(**{name: agreed[name] for name in ("id", "slug", "title", "version")})


def event_resource(event: InstanceEvent) -> EventOut:
    return EventOut(
        kind=event.kind,
        from_state=event.from_state or None,
        to_state=event.to_state or None,
        **message_fields(event.message, event.detail),
        actor=event.actor,
        at=event.at,
    )


def _host(instance: Instance) -> InstanceHost:
    host = instance.host
    return InstanceHost(
        id=public_id(HOST_PREFIX, host.pk),
        name=host.name,
        region=host.region,
        verified=host.verified,
        runtime=host.runtime,
        simulated=host.simulated,
    )


def _failure(instance: Instance) -> InstanceFailure | None:
    if not instance.failure_code:
        return None
    return InstanceFailure(
        code=instance.failure_code,
        **message_fields(instance.failure_message, instance.failure_detail),
        fault_of=instance.fault_of,
    )
