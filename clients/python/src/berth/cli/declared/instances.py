"""Instances: what differs between a file and a live one, and the calls that change it, in place where that can be."""

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from berth.cli.declared.access import compare_access
from berth.cli.declared.comparisons import Comparison
from berth.cli.declared.files import Document
from berth.cli.declared.launches import changes_of, request_for, target_of
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Change, Cost, Entry, Step, in_all
from berth.cli.declared.releasing import WAIT_S, against_replacement, release
from berth.cli.declared.renting import Choice, check_order, check_rate, choose, gpu_limit, rent
from berth.cli.framework import Refused

if TYPE_CHECKING:
    from berth import models

_PATCHED = ("locked", "idle_stop", "schedule")
_AGREED = ("billing_mode", "term", "payment")


def plan_instance(market: Market, document: Document, choice: Choice | None, *, renew_secrets: bool = False) -> Entry:
    """Return what makes the instance of this name as the file has it; `choice`: what to rent where there is none."""
    live = market.instance(document.name)
    if live is None:
        return new_instance(market, document, choice or choose(market, document))
    seen = Comparison(market, document, live, disk_daily=live.billing.disk_daily)
    if live.state == "failed":
        why = f"It failed: {live.failure.detail if live.failure else 'its host said no more'}"
        notes = [why, f"`berth start {live.id}` tries again with its data; `berth rm {live.id}` deletes it."]
        return Entry(document, "blocked", live.id, notes=notes)
    _compare_place(seen)
    if seen.replaced:
        return _replacement(seen)
    for compare in (_compare_settings, compare_access, _compare_size, _compare_volumes, _compare_agreement):
        compare(seen)
    _compare_program(seen, renew_secrets=renew_secrets)
    _compare_state(seen)
    action = "blocked" if seen.blocked else "change" if seen.steps else "none"
    return Entry(
        document,
        action,
        live.id,
        seen.changes,
        [] if seen.blocked else seen.steps,
        seen.cost,
        seen.loses,
        [*seen.blocked, *seen.notes],
    )


def new_instance(market: Market, document: Document, choice: Choice) -> Entry:
    spec, client = document.spec, market.client
    made: list[str] = []
    steps = [Step("rent", lambda: made.append(rent(market, document, choice).id))]
    kept, reached = document.given(_PATCHED), document.given(("allow_from",))
    if reached:
        steps.append(Step("access", lambda: client.instances.access_change(made[0], **reached), ("allow_from",)))
    if kept:
        steps.append(Step("update", lambda: client.instances.update(made[0], **kept), tuple(kept)))
    if spec.get("desired") == "stopped":
        steps.append(Step("stop", lambda: _stop_once_it_ran(market, made[0]), ("desired",)))
    return Entry(document, "create", steps=steps, cost=choice.cost, notes=[choice.title], offer=choice.offer)


def _stop_once_it_ran(market: Market, instance_id: str) -> None:
    market.client.wait(instance_id, "running", timeout=WAIT_S)
    market.client.instances.stop(instance_id)


def _replacement(seen: Comparison) -> Entry:
    """Return what releases it and rents a new one, once the market has checked the whole order for that."""
    market, document, live = seen.market, seen.document, seen.live
    seen.blocked += against_replacement(live)
    for text in document.spec.get("volume_ids", []):
        volume = market.volume_of(text)
        if volume is not None and volume.attached_to not in (None, live.id):
            seen.blocked.append(_taken(text, volume))
    if seen.blocked:
        return Entry(document, "blocked", live.id, seen.replaced, notes=seen.blocked)
    choice = choose(market, document)
    steps = [
        Step("check the new order", lambda: check_order(market, document, choice)),
        Step("release", lambda: release(market, live.id)),
        *new_instance(market, document, choice).steps,
    ]
    loses = f"everything on {document.title} outside its volumes"
    return Entry(document, "replace", live.id, seen.replaced, steps, choice.cost, loses, [choice.title], choice.offer)


def _compare_place(seen: Comparison) -> None:
    """Find what no call changes in place."""
    live, spec = seen.live, seen.spec
    if seen.differs("offer", live.offer):
        seen.replaced.append(Change("offer", live.offer, spec["offer"]))
    if spec.get("data_disk_gb", live.data_disk_gb) < live.data_disk_gb:
        seen.replaced.append(Change("data_disk_gb", live.data_disk_gb, spec["data_disk_gb"]))
    if "data_sets" in spec:
        mounted = sorted(each.slug for each in seen.market.client.instances.storage(live.id).data_sets)
        if mounted != sorted(spec["data_sets"]):
            seen.replaced.append(Change("data_sets", mounted, sorted(spec["data_sets"])))


def _compare_settings(seen: Comparison) -> None:
    live = to_builtins(seen.live)
    shown = {name: live[name] for name in ("locked", "idle_stop")}
    shown["schedule"] = {"weekly": live["schedule"]["weekly"], "time_zone": live["schedule"]["time_zone"] or ""}
    found = [Change(name, shown[name], seen.spec[name]) for name in _PATCHED if seen.differs(name, shown[name])]
    if found:
        seen.changes += found
        sent = {each.field: each.after for each in found}
        seen.steps.append(Step("update", lambda: seen.market.client.instances.update(seen.live.id, **sent)))


def _compare_size(seen: Comparison) -> None:
    live, spec, client = seen.live, seen.spec, seen.market.client
    size: dict[str, Any] = {}
    if seen.differs("gpu_count", live.gpu.count):
        seen.changes.append(Change("gpu_count", live.gpu.count, spec["gpu_count"]))
        size["gpu_count"] = spec["gpu_count"]
        if live.state != "stopped":
            seen.blocked.append("The number of GPUs changes on a stopped instance: apply `desired: stopped` first.")
            return
    if spec.get("data_disk_gb", live.data_disk_gb) > live.data_disk_gb:
        seen.changes.append(Change("data_disk_gb", live.data_disk_gb, spec["data_disk_gb"]))
        size["data_disk_gb"] = spec["data_disk_gb"]
    if size:
        price = client.instances.resize_price(live.id, **size)
        seen.disk_daily = price.disk_daily
        seen.cost = Cost(hourly=in_all(price.hourly_rate, price.disk_daily))
        check_rate(seen.document, seen.cost.hourly)
        seen.notes.append(
            f"{price.hourly_rate} an hour for its GPUs (now {price.hourly_rate_now}), "
            f"{price.disk_daily} a day for its data disk (now {price.disk_daily_now})"
        )
        seen.steps.append(
            Step(
                "resize",
                lambda: client.instances.resize(
                    live.id, **size, max_hourly_rate=price.hourly_rate, max_disk_daily=price.disk_daily
                ),
            )
        )


def _compare_volumes(seen: Comparison) -> None:
    """Attach what isn't; a volume that the file doesn't name stays attached."""
    for text in seen.spec.get("volume_ids", []):
        volume = seen.market.volume_of(text)
        if volume is not None and volume.attached_to == seen.live.id:
            continue
        seen.changes.append(Change("volume_ids", None, text))
        if volume is not None and volume.attached_to:
            seen.blocked.append(_taken(text, volume))
        elif seen.live.state != "stopped":
            seen.blocked.append("A volume is attached to a stopped instance: apply `desired: stopped` first.")
        elif volume is None and seen.market.declared("volume", text) is None:
            raise Refused(f"{seen.document.place}: there is no volume {text!r}, and the files declare none.", 4)
        else:
            seen.steps.append(Step("attach", lambda text=text: _attach(seen, text)))  # type: ignore[misc]  # bound now


def _taken(text: str, volume: "models.VolumeOut") -> str:
    return f"Volume {text} is attached to {volume.attached_to}: detach it there first."


def _attach(seen: Comparison, text: str) -> None:
    volume = Market(seen.market.client, ()).volume_of(text)
    if volume is None:
        raise Refused(f"{seen.document.place}: there is no volume {text!r}.", 4)
    seen.market.client.volumes.attach(volume.id, instance=seen.live.id)


def _compare_agreement(seen: Comparison) -> None:
    """Compare how it is billed; the market says which change is possible, and what it costs."""
    billing, spec, client = seen.live.billing, seen.spec, seen.market.client
    term = billing.next_term or billing.term
    shown = {
        "billing_mode": billing.mode,
        "term": term.term if term else None,
        "payment": term.payment if term else None,
    }
    reserved = spec.get("billing_mode", billing.mode) == "reserved"
    names = _AGREED if reserved else ("billing_mode",)
    found = [Change(name, shown[name], spec[name]) for name in names if seen.differs(name, shown[name])]
    if found:
        order = seen.document.given((*names, "max_price"))
        quote = client.quotes.create(instance=seen.live.id, **order)
        seen.changes += found
        seen.cost = Cost(hourly=in_all(quote.hourly_rate, seen.disk_daily), due_now=quote.due_now)
        check_rate(seen.document, seen.cost.hourly)
        agreed = {"quote_id": quote.id, "signature": quote.signature, **seen.document.given(("max_total",))}
        seen.steps.append(Step("convert", lambda: client.instances.convert(seen.live.id, **agreed)))
    elif billing.mode == "spot" and seen.differs("max_price", billing.max_price) and not _equal(seen):
        seen.changes.append(Change("max_price", billing.max_price, spec["max_price"]))
        seen.steps.append(Step("bid", lambda: client.instances.bid(seen.live.id, max_price=spec["max_price"])))
    if term is not None and seen.differs("auto_renew", term.auto_renew):
        seen.changes.append(Change("auto_renew", term.auto_renew, spec["auto_renew"]))
        seen.steps.append(Step("extend", lambda: client.instances.extend(seen.live.id, auto_renew=spec["auto_renew"])))


def _equal(seen: Comparison) -> bool:
    from decimal import Decimal

    return Decimal(seen.spec["max_price"]) == Decimal(seen.live.billing.max_price or -1)


def _compare_program(seen: Comparison, *, renew_secrets: bool) -> None:
    """Compare image and launch settings."""
    live, market = seen.live, seen.market
    target = target_of(market, seen.document)
    changes = changes_of(seen.document, target, live.launch, renew_secrets=renew_secrets)
    image = market.image_slug(seen.spec["image"]) if "image" in seen.spec else target.image
    now = live.reimage.image if live.reimage else live.image
    if not changes and image in (None, now):
        return
    seen.changes += changes
    request = request_for(seen.document, target, changes, live.launch)
    instances = market.client.instances
    if image not in (None, now):
        seen.changes.append(Change("image", now, image))
        if seen.spec.get("locked", live.locked):
            seen.blocked.append("Release protection refuses another image: apply `locked: false` with it.")
        seen.loses = f"the files of {seen.document.title} outside /data and its volumes"
        seen.steps.append(Step("reimage", lambda: _reimage(seen, str(image), request)))
    elif live.state == "stopped":
        seen.steps.append(Step("launch settings", lambda: instances.launch_update(live.id, **request)))
    else:
        seen.steps.append(Step("restart", lambda: instances.restart(live.id, **request)))


def _reimage(seen: Comparison, image: str, request: dict[str, Any]) -> None:
    from berth.cli.remote import forget_host_keys

    seen.market.client.instances.reimage(seen.live.id, image=image, **request)
    forget_host_keys(seen.live.id)


def _compare_state(seen: Comparison) -> None:
    live, client = seen.live, seen.market.client
    if not seen.differs("desired", live.desired):
        return
    seen.changes.append(Change("desired", live.desired, seen.spec["desired"]))
    if seen.spec["desired"] == "stopped":
        seen.steps.append(Step("stop", lambda: client.instances.stop(live.id)))
    else:
        limit = gpu_limit(seen.document, seen.disk_daily)
        risen = f"; if the price has risen, up to {limit['max_hourly_rate']}" if limit else ""
        seen.notes.append(f"{live.billing.hourly_rate} an hour for its GPUs, while it runs{risen}")
        seen.steps.append(Step("start", lambda: client.instances.start(live.id, **limit)))
