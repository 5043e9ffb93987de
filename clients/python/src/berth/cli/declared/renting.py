"""Renting what a file declares: the offer, its quote, and an order that can't be placed twice."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from berth import errors
from berth.cli.declared.files import Document
from berth.cli.declared.launches import (
    check_inputs,
    declared_secret_inputs,
    planned_values,
    secret_inputs,
    values_of,
)
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Cost, in_all
from berth.cli.framework import Refused
from berth.cli.template_options import suiting

if TYPE_CHECKING:
    from berth import models

_TERMS = ("gpu_count", "billing_mode", "term", "payment", "max_price")
_QUOTED = (*_TERMS, "allow_from")  # which is set once it is rented, and refused before that where its host can't keep it
_TRIES = 20
_OFFERS = 50


@dataclass(frozen=True)
class Choice:
    """The offer that would be rented, and its quote as the plan shows it."""

    offer: str
    host: str
    title: str
    cost: Cost


def choose(market: Market, document: Document) -> Choice:
    """Return the offer that the file names, or the first that its filter finds where its volumes are.

    The market checks the order's settings as it does for a quote, and stores nothing.

    Raises:
        Refused: there is none, it costs more than `max_hourly_rate`, or there is no such SSH key.
    """
    spec, host = document.spec, _host_of_volumes(market, document)
    template = _template_fields(market, document)
    image, disk = spec.get("image", template.get("image")), spec.get("data_disk_gb", template.get("data_disk_gb"))
    if "offer" in spec:
        offer: models.Offer | models.PlacedOffer = market.client.offers.get(spec["offer"])
        if host and offer.host.id != host:
            raise Refused(f"{document.place}: {spec['offer']} isn't on the host of its volumes, {host}.")
    else:
        offer = _search(market, document, {**template, "image": image, "data_disk_gb": disk, "host": host})
    order = {**document.given(_QUOTED), **_present({"image": image, "data_disk_gb": disk}), **_settings(market, document)}
    quote = market.client.quotes.create(offer=offer.id, **order, dry_run=True)
    check_rate(document, quote.hourly_rate)
    _key_ids(market, document)
    title = f"{quote.gpu_count} x {offer.gpu.model} on {offer.host.name} in {offer.host.region} ({offer.id})"
    return Choice(offer.id, offer.host.id, title, Cost(hourly=quote.hourly_rate, due_now=quote.due_now))


def _search(market: Market, document: Document, wanted: Mapping[str, Any]) -> "models.PlacedOffer":
    spec = document.spec
    line = spec["filter"] if "filter" in spec else suiting(wanted.get("filter", ""))
    if not line and not wanted["host"]:
        raise Refused(f"{document.place}: {document.title}: say offer or filter.", 2)
    query = _present({name: wanted[name] for name in ("image", "data_disk_gb")}) | document.given(
        ("gpu_count", "billing_mode", "term")
    )
    if "sort=" not in line.replace(" ", ""):
        query["sort"] = spec.get("sort", "price")
    filters = {"host": wanted["host"]} if wanted["host"] else None
    found = market.client.offers.list(q=line, **query, filters=filters, limit=_OFFERS).first()
    where = f" on {wanted['host']}, where its volumes are" if wanted["host"] else ""
    if not found.results:
        raise Refused(f"{document.place}: no offer matches {line!r}{where}; `berth search` says why.", 4)
    need = spec.get("gpu_count", 1)
    for offer in found.results:
        if offer.gpu_free + offer.gpu_spot - market.chosen[offer.id] >= need:
            market.chosen[offer.id] += need
            return offer
    raise Refused(f"{document.place}: no offer{where} that matches {line!r} has {need} GPUs beside what else is rented.", 4)


def _host_of_volumes(market: Market, document: Document) -> str:
    """Return the host on which all volumes of an instance are, or are going to be; empty: it has none, or they follow it."""
    hosts: dict[str, str] = {}
    for text in document.spec.get("volume_ids", []):
        live, declared = market.volume_of(text), market.declared("volume", text)
        if live is not None:
            hosts[live.host.id] = text
        elif declared is None:
            raise Refused(f"{document.place}: there is no volume {text!r}, and the files declare none.", 4)
        elif "host" in declared.spec:
            hosts[market.host_id(declared.spec["host"])] = text
    if len(hosts) > 1:
        raise Refused(f"{document.place}: its volumes are on different hosts: {', '.join(hosts.values())}.")
    return next(iter(hosts), "")


def _template_fields(market: Market, document: Document) -> dict[str, Any]:
    """Return image, disk and filter of a template; what the files declare of it comes first, since that is to come."""
    text = document.spec.get("launch_template")
    if text is None:
        return {}
    declared = market.declared("template", text.partition("@")[0])
    found = market.template_of(text) if declared is None else market.template(declared.name)
    if found is None and declared is None:
        raise Refused(f"{document.place}: there is no template {text!r}, and the files declare none.", 4)
    fields: dict[str, Any] = {}
    if found is not None:
        check_inputs(document, secret_inputs(found.version.inputs))
        version = found.version
        fields = {"image": version.image, "data_disk_gb": version.data_disk_gb, "filter": version.filter or None}
    if declared is not None:
        check_inputs(document, declared_secret_inputs(declared))
        fields |= declared.given(("image", "data_disk_gb", "filter"))
    return _present(fields)


def _settings(market: Market, document: Document) -> dict[str, Any]:
    """Return the launch settings of the plan's quote: with the template, unless that is one of these files.

    A template of these files may not be there yet, or have another version then.
    """
    text = document.spec.get("launch_template")
    if text is None:
        return planned_values(document, ())
    if market.declared("template", text.partition("@")[0]) is not None:
        found = planned_values(document, document.spec.get("inputs", {}))
        return {name: value for name, value in found.items() if name != "inputs"}
    live = market.template_of(text)
    secrets = secret_inputs(live.version.inputs) if live is not None else ()
    return {"launch_template": text, **planned_values(document, secrets)}


def rent(market: Market, document: Document, choice: Choice) -> "models.InstanceOut":
    """Order by a quote that costs no more than the plan's, unless an instance of this name has come meanwhile.

    Raises:
        Refused: the price has risen since, or a variable isn't set.
    """
    there = Market(market.client, ()).instance(document.name)
    return there or _place(market, document, _order(market, document, choice))


def check_order(market: Market, document: Document, choice: Choice) -> None:
    """Have the market check a whole order without placing it, before what it replaces is deleted.

    Of the volumes it is checked that they are there: the instance that is to be replaced may still have them.

    Raises:
        Refused: as `rent` does.
        APIError: the market would refuse the order.
    """
    order = _order(market, document, choice)
    order.pop("volume_ids", None)
    market.client.instances.create(**order, dry_run=True)


def _order(market: Market, document: Document, choice: Choice) -> dict[str, Any]:
    """Return an order by a new quote."""
    order = {**document.given((*_QUOTED, "image", "data_disk_gb", "launch_template")), **values_of(document)}
    quote = market.client.quotes.create(offer=choice.offer, **order)
    if Decimal(quote.hourly_rate) > Decimal(choice.cost.hourly) or Decimal(quote.due_now) > Decimal(choice.cost.due_now):
        price = Cost(hourly=quote.hourly_rate, due_now=quote.due_now)
        raise Refused(f"{document.title}: the price is {price} now, and was {choice.cost}. Run it again to see the plan.", 6)
    placed = {
        "quote_id": quote.id,
        "signature": quote.signature,
        "name": document.name,
        **document.given(("auto_renew", "max_total", "data_sets", "ports", "udp_ports")),
        **_key_ids(market, document),
    }
    if "volume_ids" in document.spec:
        placed["volume_ids"] = _volume_ids(market, document)
    return placed


def _key_ids(market: Market, document: Document) -> dict[str, Any]:
    """Return the ids of the SSH keys as an order has them; left out, all of the account are let in."""
    wanted = document.spec.get("ssh_key_ids")
    return {} if wanted is None else {"ssh_key_ids": [each.id for each in market.keys_of(wanted)]}


def _volume_ids(market: Market, document: Document) -> list[str]:
    """Return the ids of the volumes, which are all there by now."""
    now = Market(market.client, ())
    found = [(text, now.volume_of(text)) for text in document.spec["volume_ids"]]
    missing = [text for text, volume in found if volume is None]
    if missing:
        raise Refused(f"{document.place}: there is no volume {missing[0]!r}.", 4)
    return [volume.id for _, volume in found if volume is not None]


def _place(market: Market, document: Document, order: dict[str, Any]) -> "models.InstanceOut":
    """Order, once for each life of the name.

    The key says which instance this is the successor of, and not what is ordered: two runs of two versions of a file can't
    rent two. Whoever comes second has another quote, so the market refuses the key, and by then the first is in the list.
    """
    before = market.predecessor(document.name)
    for attempt in range(_TRIES):
        life = f"{document.kind}\n{document.name}\n{before.id if before else ''}\n{attempt}"
        key = f"apply-{hashlib.sha256(life.encode()).hexdigest()[:40]}"
        try:
            return market.client.instances.create(**order, idempotency_key=key)
        except errors.APIError as error:
            if error.code != "idempotency_conflict":
                raise
        live = Market(market.client, ()).instance(document.name)
        if live is not None:
            return live
        # The instance of this key has been renamed since, or has ended: this is the next life.
        newest = market.predecessor(document.name)
        if newest is not None and (before is None or newest.id != before.id):
            raise Refused(f"{document.title} was rented and released meanwhile, by someone else. Run it again.")
    raise Refused(f"{document.title}: too many of this name were rented and renamed. Give it another name.")


def check_rate(document: Document, hourly: str) -> None:
    """Raise Refused for a rate above the file's `max_hourly_rate`."""
    most = document.spec.get("max_hourly_rate")
    if most is not None and Decimal(hourly) > Decimal(most):
        raise Refused(f"{document.title} costs {hourly} an hour, more than its max_hourly_rate {most}.", 6)


def gpu_limit(document: Document, disk_daily: str) -> dict[str, Any]:
    """Return what `max_hourly_rate` leaves for the GPUs beside the disk, for a start; empty: no limit, or nothing left."""
    most = document.spec.get("max_hourly_rate")
    rest = Decimal(0) if most is None else Decimal(most) - Decimal(in_all("0", disk_daily))
    return {"max_hourly_rate": f"{rest:f}"} if rest > 0 else {}


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
