"""Hosts of an owner: shown, listed, unlisted and priced."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common.money import MICROS_PER_UNIT, divide_half_up
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.hosts.offers import ListingChange, Until, change_listing
from marketplace.hosts.selectors import host_of, hosts_of
from vast.constants import DAYS_PER_MONTH
from vast.errors import InvalidArgs, InvalidPrice
from vast.models import Kind
from vast.numbers.numbers import key_of, numbers_of
from vast.search.gpu_names import vast_name
from vast.search.places import geolocation_of
from vast.search.rows import dollars
from vast.values import is_amount, read_moment, read_number

if TYPE_CHECKING:
    from marketplace.models import Host

_PRICE_MOST: Final = 1_000_000
_BPS: Final = 10_000
_TERMS: Final = ("month", "year")
_UNSPOKEN: Final = {
    "price_inetu": "Traffic costs nothing here.",
    "price_inetd": "Traffic costs nothing here.",
    "duration": "Name an end_date.",
}


def machine_rows(owner: User) -> list[dict[str, Any]]:
    """Return the owner's hosts."""
    hosts = list(hosts_of(owner.pk).order_by("name", "pk"))
    numbers = numbers_of(Kind.HOST, [host.pk for host in hosts])
    return [_row(host, numbers[host.pk]) for host in hosts]


def machine_row(owner: User, number: int) -> dict[str, Any]:
    """Return one of the owner's hosts, or raise NotFound."""
    return _row(host_of(owner.pk, key_of(Kind.HOST, number)), number)


def list_machine(*, owner: User, body: Mapping[str, Any]) -> None:
    """List all offers of a host at these prices; what is not named stays.

    `price_gpu` and `price_min_bid` are per GPU and hour, `price_disk` per GB and month, `credit_discount_max` is the
    part that a reserved month or year costs less.
    """
    number = body.get("machine")
    if type(number) is not int:
        raise InvalidArgs("machine: Send the number of the host.")
    for name, advice in _UNSPOKEN.items():
        if body.get(name):
            raise InvalidArgs(f"{name}: {advice}")
    disk = _micros(body, "price_disk")
    discount = _discount(body.get("credit_discount_max"))
    terms = {
        "price_micros": _micros(body, "price_gpu"),
        "spot_floor_micros": _micros(body, "price_min_bid"),
        "disk_micros_gb_day": None if disk is None else divide_half_up(disk, DAYS_PER_MONTH),
        "reserved_discounts": None if discount is None else dict.fromkeys(_TERMS, discount or None),
    }
    _change(owner, key_of(Kind.HOST, number), until=_until(body.get("end_date")), listed=True, **terms)


def unlist_machine(*, owner: User, number: int) -> None:
    """Take all offers of a host off the market; what is rented goes on."""
    _change(owner, key_of(Kind.HOST, number), listed=False)


def set_minimum(*, owner: User, number: int, price: object) -> None:
    """Set the lowest bid per GPU and hour that a host accepts; 0 ends bids."""
    micros = _micros({"price": price}, "price")
    if micros is None:
        raise InvalidPrice("price: Send dollars per GPU and hour.")
    _change(owner, key_of(Kind.HOST, number), spot_floor_micros=micros)


def _change(owner: User, host_id: UUID, *, until: Until | None = None, **terms: Any) -> None:
    host = host_of(owner.pk, host_id)
    changes = [ListingChange(offer.pk, **terms) for offer in host.offers.all()]
    change_listing(actor_id=owner.pk, host_id=host_id, changes=changes, until=until)


def _micros(body: Mapping[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not is_amount(value, most=_PRICE_MOST):
        raise InvalidPrice(f"{name}: Send dollars, such as 0.35.")
    return round(value * MICROS_PER_UNIT)


def _discount(value: object) -> int | None:
    if value is None:
        return None
    share = read_number("credit_discount_max", value)
    if not 0 <= share < 1:
        raise InvalidArgs("discount_rate: Send a part such as 0.4.")
    return round(share * _BPS)


def _until(value: object) -> Until | None:
    if value is None or value == "":
        return None
    return Until(read_moment("end_date", value))


def _row(host: "Host", number: int) -> dict[str, Any]:
    offers, gpus = list(host.offers.all()), list(host.gpus.all())
    first = offers[0] if offers else None
    model = by_slug(first.gpu_model).slug if first else ""
    taken = [gpu.leased for gpu in gpus]  # type: ignore[attr-defined]  # annotated by `hosts_of`
    return {
        "id": number,
        "machine_id": number,
        "hostname": host.name,
        "num_gpus": len(gpus),
        "gpu_name": vast_name(model, nvlink=host.nvlink) if first else "",
        "disk_space": float(host.disk_free_gb),
        "driver_version": host.driver,
        "reliability2": (host.reliability_ppm or 0) / 1_000_000,
        "verification": "verified" if host.verified else "unverified",
        "public_ipaddr": host.address,
        "geolocation": geolocation_of(host.region),
        "num_reports": 0,
        "listed": any(offer.listed for offer in offers),
        "listed_gpu_cost": dollars(first.price_micros) if first else 0.0,
        "min_bid_price": dollars(first.spot_floor_micros or 0) if first else 0.0,
        "credit_discount_max": max((first.reserved_discounts or {"": 0}).values(), default=0) / _BPS if first else 0.0,
        "listed_storage_cost": dollars(first.disk_micros_gb_day * DAYS_PER_MONTH) if first else 0.0,
        "listed_inet_up_cost": 0.0,
        "listed_inet_down_cost": 0.0,
        "gpu_occupancy": " ".join("D" if leased else "x" for leased in taken),
        "current_rentals_running": sum(taken),
        "end_date": host.listed_until.timestamp() if host.listed_until else None,
    }
