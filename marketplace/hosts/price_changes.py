"""What a change of an offer's prices says in the events of its host."""

from collections.abc import Iterator, Mapping, Sequence

from common.messages.message import Message, Micros, Share
from marketplace.host_messages import (
    DiscountChanged,
    DiscountRemoved,
    DiscountSet,
    FloorRemoved,
    FloorSet,
    NoTiers,
    PriceChanged,
    PricesChanged,
    ShareChanged,
    Tier,
    TiersChanged,
)
from marketplace.pricing.prices import TERM_HOURS
from marketplace.pricing.rules import PriceList


def price_changes(gpu: str, old: PriceList, new: PriceList) -> PricesChanged:
    """Return the differences between two unequal price lists of an offer of this GPU model."""
    return PricesChanged(gpu=gpu, changes=tuple(_changes(old, new)))


def _changes(old: PriceList, new: PriceList) -> Iterator[Message]:
    if old.price_micros != new.price_micros:
        yield _price("price_micros", old.price_micros, new.price_micros)
    yield from _discounts(old.reserved_discounts, new.reserved_discounts)
    before, after = _tiers(old.tiers), _tiers(new.tiers)
    if before != after:
        yield TiersChanged(before=before, after=after)
    if old.spot_floor_micros != new.spot_floor_micros:
        yield _floor(old.spot_floor_micros, new.spot_floor_micros)
    if old.disk_micros_gb_day != new.disk_micros_gb_day:
        yield _price("disk_micros_gb_day", old.disk_micros_gb_day, new.disk_micros_gb_day)
    if old.hold_bps != new.hold_bps:
        yield ShareChanged(field="hold_bps", before=Share(old.hold_bps), after=Share(new.hold_bps))


def _price(field: str, before: int, after: int) -> Message:
    return PriceChanged(field=field, before=Micros(before), after=Micros(after))


def _floor(before: int | None, after: int | None) -> Message:
    if before is None:
        return FloorSet(after=Micros(after or 0))
    if after is None:
        return FloorRemoved(before=Micros(before))
    return _price("spot_floor_micros", before, after)


def _discounts(old: Mapping[str, int], new: Mapping[str, int]) -> Iterator[Message]:
    for term in sorted(old.keys() | new.keys(), key=lambda term: TERM_HOURS.get(term, 0)):
        before, after = old.get(term), new.get(term)
        if before == after:
            continue
        if before is None:
            yield DiscountSet(term=term, after=Share(after or 0))
        elif after is None:
            yield DiscountRemoved(term=term, before=Share(before))
        else:
            yield DiscountChanged(term=term, before=Share(before), after=Share(after))


def _tiers(steps: Sequence[Sequence[int]]) -> tuple[Message, ...]:
    return tuple(Tier(hours=hours, off=Share(off_bps)) for hours, off_bps in steps) or (NoTiers(),)
