"""Volumes: made on their host, enlarged and moved in place; what can't be done in place deletes their data."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from berth import errors
from berth.cli.declared.files import Document
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Change, Cost, Entry, Step
from berth.cli.framework import Refused

if TYPE_CHECKING:
    from berth import Client, models

WAIT_S = 600.0


def plan_volume(market: Market, document: Document, *, host: str = "") -> Entry:
    """Return what makes the volume as the file has it; `host`: where it goes if the file doesn't say."""
    live = market.volume(document.name)
    return _new(market, document, host) if live is None else _changed(market, document, live)


def _new(market: Market, document: Document, host: str) -> Entry:
    order = _order(market, document, host)
    daily = market.client.volumes.create(**order, dry_run=True).daily_rate
    notes = [f"on {host}, with the instance that mounts it"] if host and "host" not in document.spec else []
    cost = Cost(daily=daily)
    step = Step("create volume", lambda: create_volume(market.client, order, cost))
    return Entry(document, "create", steps=[step], cost=cost, notes=notes)


def _order(market: Market, document: Document, host: str) -> dict[str, Any]:
    spec = document.spec
    order: dict[str, Any] = {"name": document.name}
    if "size_gb" in spec:
        order["size_gb"] = spec["size_gb"]
    if "snapshot" in spec:
        order["snapshot"] = _snapshot_id(market, spec["snapshot"])
    if "host" in spec:
        order["host"] = market.host_id(spec["host"])
    elif "snapshot" not in spec and host:
        order["host"] = host
    elif "snapshot" not in spec:
        raise Refused(f"{document.place}: {document.title}: say host, or mount it in an instance of this file.", 2)
    return order


def _snapshot_id(market: Market, text: str) -> str:
    from berth.cli.lookup import pick

    return pick(market.client.snapshots.list(), text, "snapshot", name=lambda each: str(each.name), exact=True).id


def create_volume(client: "Client", order: dict[str, Any], agreed: Cost) -> None:
    """Make a volume at most at the agreed price, and wait until an instance can mount it.

    A name belongs to one volume: a second one is refused.
    """
    made = client.volumes.create(**order, max_daily_rate=agreed.daily or UNSET)
    until_ready(client, made)


def until_ready(client: "Client", volume: "models.VolumeOut") -> None:
    """Wait for a volume's host.

    Raises:
        Refused: it failed.
    """
    from berth import models
    from berth._core.calls import Call

    call = Call("GET", f"/api/v1/volumes/{volume.id}", models.VolumeOut)
    found = client.wait_until(call, lambda each: each.state in ("ready", "failed", "gone"), timeout=WAIT_S)
    if found.state != "ready":
        raise Refused(f"Volume {found.name}: {found.failure.detail if found.failure else found.state}.")


def _changed(market: Market, document: Document, live: "models.VolumeOut") -> Entry:
    spec, client = document.spec, market.client
    changes: list[Change] = []
    steps: list[Step] = []
    size = live.growth.size_gb if live.growth else live.size_gb
    if live.state == "creating":
        return Entry(document, "change", live.id, steps=[Step("wait until it is ready", lambda: until_ready(client, live))])
    if live.state == "failed":
        return _replaced(market, document, live, [Change("state", "failed", "ready")])
    if spec.get("size_gb", size) < size:
        changes.append(Change("size_gb", size, spec["size_gb"]))
    known = _snapshots(market, spec["snapshot"]) if "snapshot" in spec else []
    if known and live.snapshot not in known:
        changes.append(Change("snapshot", live.snapshot, spec["snapshot"]))
    if changes:
        return _replaced(market, document, live, changes)
    cost = Cost()
    if spec.get("size_gb", size) > size:
        grown = client.volumes.resize(live.id, size_gb=spec["size_gb"], dry_run=True)
        cost = Cost(daily=grown.growth.daily_rate if grown.growth else grown.daily_rate)
        limit = {"size_gb": spec["size_gb"], "max_daily_rate": cost.daily}
        changes.append(Change("size_gb", size, spec["size_gb"]))
        steps.append(Step("resize", lambda: client.volumes.resize(live.id, **limit)))
    there = _destination(market, document, live)
    if there is not None:
        cost = Cost(daily=str(Decimal(there.gb_day) * spec.get("size_gb", size)))
        to: dict[str, Any] = {"host": there.id, "max_daily_rate": cost.daily}
        changes.append(Change("host", live.host.name, spec["host"]))
        steps.append(Step("move", lambda: client.volumes.move(live.id, **to)))
    notes = ["It is attached: it can move once its instance has been stopped and the volume detached."]
    attached = any(each.call == "move" for each in steps) and live.attached_to
    return Entry(document, _action(steps), live.id, changes, steps, cost, notes=notes if attached else [])


def _snapshots(market: Market, text: str) -> list[str]:
    """Return the ids of the snapshots with this id or name: none of one that has been deleted, which isn't compared."""
    return [each.id for each in market.client.snapshots.list() if text in (each.id, each.name)]


def _destination(market: Market, document: Document, live: "models.VolumeOut") -> "models.StorageHostOut | None":
    """Return the host to which the volume has to move, unless it is there, or on its way."""
    if document.spec.get("host", live.host.id) in (live.host.id, live.host.name):
        return None
    there = market.storage_host(document.spec["host"])
    return None if live.move and live.move.kind == "move" and live.move.to_host.id == there.id else there


def _action(steps: list[Step]) -> str:
    return "change" if steps else "none"


def _replaced(market: Market, document: Document, live: "models.VolumeOut", changes: list[Change]) -> Entry:
    if live.attached_to:
        note = "That takes a new volume, and this one is attached: detach it (`berth volume detach`), then apply."
        return Entry(document, "blocked", live.id, changes, notes=[note])
    client, order = market.client, _order(market, document, live.host.id)
    if "snapshot" not in order:
        order.setdefault("size_gb", live.size_gb)
    try:
        cost = Cost(daily=check_order(client, order, live) or _listed_price(market, order))
    except errors.APIError as error:
        if error.code != "no_storage":
            raise
        note = f"It needs room beside this one: delete this first (`berth volume rm {live.id}`), if you mean it."
        return Entry(document, "blocked", live.id, changes, notes=[error.detail, note])
    steps = [
        Step("check the new order", lambda: _check_again(market, order, live, cost)),
        Step("delete volume", lambda: delete_volume(client, live.id)),
        Step("create volume", lambda: create_volume(client, order, cost)),
    ]
    return Entry(document, "replace", live.id, changes, steps, cost, loses=f"everything on {document.title}")


def check_order(client: "Client", order: dict[str, Any], live: "models.VolumeOut") -> str:
    """Have the market check an order while the volume that it replaces is there, and return its price per day.

    It is empty for an account that has as many volumes as it can have, until the present one is deleted.

    Raises:
        APIError: the market would refuse the order, be it for want of room beside the present volume: nobody knows how
            soon the host reports the room that a deletion frees.
    """
    name = f"check-{live.id.rpartition('_')[2][:32]}"  # the present volume still has the order's
    try:
        return client.volumes.create(**{**order, "name": name}, dry_run=True).daily_rate
    except errors.APIError as error:
        if error.code != "too_many_volumes":
            raise
        return ""


def _listed_price(market: Market, order: dict[str, Any]) -> str:
    """Return the price per day at which the order's host takes volumes; empty: the host is that of a snapshot."""
    return str(Decimal(market.storage_host(order["host"]).gb_day) * order["size_gb"]) if "snapshot" not in order else ""


def _check_again(market: Market, order: dict[str, Any], live: "models.VolumeOut", agreed: Cost) -> None:
    """Check the order once more before anything is deleted.

    Raises:
        Refused: the price has risen since the plan.
    """
    now = Cost(daily=check_order(market.client, order, live) or _listed_price(market, order))
    if agreed.daily and now.exceeds(agreed):
        raise Refused(f"Volume {order['name']}: the price is {now} now, and was {agreed}. Run it again to see the plan.", 6)


def delete_volume(client: "Client", volume_id: str) -> None:
    """Delete a volume and wait until its host has done so."""
    from berth import models
    from berth._core.calls import Call

    try:
        client.volumes.delete(volume_id)
        call = Call("GET", f"/api/v1/volumes/{volume_id}", models.VolumeOut)
        client.wait_until(call, lambda each: each.state == "gone", timeout=WAIT_S)
    except errors.NotFound:
        return
