"""Asks of slices of offers: listed by a search, found again by an order."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from vast.constants import HIGHEST_NUMBER
from vast.errors import NoSuchAsk
from vast.models import Ask

HOURLY, SPOT = "hourly", "spot"


@dataclass(frozen=True)
class Slice:
    """A number of GPUs of an offer in a mode, with its prices in micro-units: per GPU-hour, and per GB-day of disk."""

    offer_id: UUID
    gpu_count: int
    mode: str
    price_micros: int
    disk_micros_gb_day: int


def asks_of(slices: Iterable[Slice]) -> dict[Slice, int]:
    """Return the numbers of the asks of these slices; those without one get one now."""
    wanted = list(dict.fromkeys(slices))
    found = _known(wanted)
    missing = [each for each in wanted if each not in found]
    if missing:
        rows = [Ask(**vars(each)) for each in sorted(missing, key=lambda each: (each.offer_id, each.gpu_count, each.mode))]
        Ask.objects.bulk_create(rows, ignore_conflicts=True)
        found = _known(wanted)
    return found


def ask_of(number: int) -> Ask:
    """Return the ask with this number.

    Raises:
        NoSuchAsk: there is none.
    """
    found = Ask.objects.filter(pk=number).first() if 0 < number <= HIGHEST_NUMBER else None
    if found is None:
        raise NoSuchAsk(f"There is no offer {number}. Search again: another price is another number.")
    return found


def slices_of(numbers: Iterable[int]) -> set[tuple[UUID, int]]:
    """Return offer and number of GPUs of these asks; unknown ones are left out."""
    usable = [number for number in numbers if 0 < number <= HIGHEST_NUMBER]
    return set(Ask.objects.filter(pk__in=usable).values_list("offer_id", "gpu_count"))


def _known(wanted: list[Slice]) -> dict[Slice, int]:
    names = ("offer_id", "gpu_count", "mode", "price_micros", "disk_micros_gb_day")
    offers, prices = {each.offer_id for each in wanted}, {each.price_micros for each in wanted}
    rows = Ask.objects.filter(offer_id__in=offers, price_micros__in=prices).values_list("pk", *names)
    found = {Slice(*values): pk for pk, *values in rows}
    return {each: found[each] for each in wanted if each in found}
