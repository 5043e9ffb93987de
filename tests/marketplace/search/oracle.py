"""What a search must find, worked out offer by offer in plain Python from the table and `marketplace.prices`."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from operator import eq, ge, gt, le, lt
from typing import Any

from common.ids import public_id
from common.money import divide_half_up
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.models import Offer
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.pricing.prices import all_in_micros, spot_price_micros, unit_price_micros
from marketplace.search.index.cuda_versions import version_number
from marketplace.search.language.fields import TERMS, Condition, Kind, OfferQuery, Op

FOR_EVER = Fraction(10**30)
HOURS = {"day": 24, "week": 168, "month": 720, "year": 8_760, "year3": 26_280}
COMPARED: dict[Op, Callable[[Any, Any], bool]] = {Op.EQ: eq, Op.LT: lt, Op.LE: le, Op.GT: gt, Op.GE: ge}


def version(text: str) -> list[int] | None:
    parts = text.split(".")
    return [int(part) for part in parts] + [0] * (9 - len(parts)) if all(part.isdecimal() for part in parts) else None


def prices(offer: Offer, query: OfferQuery) -> tuple[int, int] | None:
    unit = unit_price_micros(
        mode=query.billing_mode,
        term=query.term,
        price_micros=offer.price_micros,
        reserved_discounts=offer.reserved_discounts,
        tiers=offer.tiers,
        spot_floor_micros=spot_price_micros(floor_micros=offer.spot_floor_micros, now_micros=offer.spot_now_micros),
    )
    if unit is None:
        return None
    disk = {"disk_micros_gb_day": offer.disk_micros_gb_day, "data_disk_gb": query.data_disk_gb}
    return all_in_micros(unit_micros=unit, gpu_count=query.gpu_count, **disk)


def value(offer: Offer, query: OfferQuery) -> int | None:
    """Thousandths of a TFLOPS per unit of money and hour."""
    cost, model = prices(offer, query), by_slug(offer.gpu_model)
    rate = model.fp16_tflops or model.fp32_tflops
    if rate is None or cost is None or cost[0] == 0:
        return None
    return divide_half_up(int(Fraction(str(rate)) * 1_000 * 1_000_000), cost[0])


def fact(offer: Offer, term: str, query: OfferQuery, now: datetime) -> Any:
    """What the offer says about the term, in the term's own unit; None where nobody knows."""
    model, cost = by_slug(offer.gpu_model), prices(offer, query)
    worth = value(offer, query)
    facts = {
        "gpu": offer.gpu_model,
        "series": model.series,
        "architecture": model.architecture,
        "vram": Fraction(offer.vram_mb, 1024),
        "fp16": None if model.fp16_tflops is None else Fraction(str(model.fp16_tflops)),
        "fp32": None if model.fp32_tflops is None else Fraction(str(model.fp32_tflops)),
        "count": offer.gpu_free + offer.gpu_spot,
        "gpu_total": offer.gpu_total,
        "nvlink": offer.nvlink,
        "region": offer.region,
        "host": public_id("host", offer.host_id),
        "verified": offer.verified,
        "simulated": offer.simulated,
        "runtime": offer.runtime,
        "reliability": None if offer.reliability_ppm is None else Fraction(offer.reliability_ppm, 10**6),
        "lease_hours": Fraction((offer.listed_until - now).total_seconds()) / 3600 if offer.listed_until else FOR_EVER,
        "price": None if cost is None else Fraction(cost[0], 10**6),
        "total": None if cost is None else Fraction(cost[1], 10**6),
        "value": None if worth is None else Fraction(worth, 1000),
        "cuda": version(offer.cuda) if offer.cuda else None,
        "cpu": Fraction(offer.cpu_millis_per_gpu, 1000),
        "ram": Fraction(offer.ram_mb_per_gpu, 1024),
        "disk": offer.disk_kind,
        "disk_free": offer.disk_free_gb,
        "disk_read": offer.disk_read_mbps,
        "disk_write": offer.disk_write_mbps,
        "net_up": offer.net_up_mbps,
        "net_down": offer.net_down_mbps,
    }
    return facts[term]


def holds(offer: Offer, condition: Condition, query: OfferQuery, now: datetime) -> bool:
    found = fact(offer, condition.term, query, now)
    requested = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    wanted = [_in_unit(condition.term, each) for each in requested]
    if condition.op in (Op.NE, Op.NOT_IN):
        return found is None or found not in wanted
    if found is None:
        return False
    if condition.op is Op.IN:
        return found in wanted
    return COMPARED[condition.op](found, wanted[0])


def _in_unit(term: str, requested: Any) -> Any:
    match TERMS[term].kind:
        case Kind.VERSION:
            return version(requested)
        case Kind.NUMBER | Kind.MONEY:
            return Fraction(requested)
        case _:
            return requested


def wishes(query: OfferQuery, now: datetime) -> dict[str, Callable[[Offer], bool]]:
    found: dict[str, Callable[[Offer], bool]] = {}
    if query.gpu_count > 1:
        found["gpu_count"] = lambda offer: offer.gpu_free + offer.gpu_spot >= query.gpu_count
    if query.data_disk_gb:
        found["data_disk_gb"] = lambda offer: offer.disk_free_gb >= query.data_disk_gb
    if query.billing_mode != "hourly":
        found["billing_mode"] = lambda offer: prices(offer, query) is not None and stays(offer, query, now)
    if query.image_needs != ImageNeeds():
        found["image"] = lambda offer: runs(offer, query)
    return found


def stays(offer: Offer, query: OfferQuery, now: datetime) -> bool:
    ends = now + timedelta(hours=HOURS[query.term])
    return query.billing_mode != "reserved" or offer.listed_until is None or offer.listed_until >= ends


def runs(offer: Offer, query: OfferQuery) -> bool:
    needs = query.image_needs
    return (
        version_number(offer.cuda) >= needs.cuda
        and (needs.room_gb == 0 or offer.disk_free_gb - query.data_disk_gb >= needs.room_gb)
        and (needs.host_id is None or needs.host_id == offer.host_id)
    )


class Oracle:
    """One search over all offers, read from the table once. Each part (wish by name, condition) is asked of each offer."""

    def __init__(self, query: OfferQuery, now: datetime) -> None:
        self.query = query
        candidates = [offer for offer in Offer.objects.all() if not offer.system_disk_gb or offer.disk_free_gb]
        self.open = [offer for offer in candidates if offer.gpu_free + offer.gpu_spot > 0]
        checks: list[tuple[Any, Callable[[Offer], bool]]] = list(wishes(query, now).items())
        checks += [(each, partial(holds, condition=each, query=query, now=now)) for each in query.conditions]
        self.parts = [what for what, _ in checks]
        self.answers = {offer.pk: [check(offer) for _, check in checks] for offer in self.open}

    def matching(self, left_out: Callable[[Any], bool] = lambda what: False, but_for: int = -1) -> list[Offer]:
        """Open offers under every part but those that are left out."""
        requested = [place for place, what in enumerate(self.parts) if place != but_for and not left_out(what)]
        return [offer for offer in self.open if all(self.answers[offer.pk][place] for place in requested)]

    def in_order(self) -> list[Offer]:
        query = self.query
        return sorted(self.matching(), key=lambda offer: key(offer, query), reverse=query.sort.startswith("-"))

    def facets(self) -> dict[str, dict[Any, tuple[int, int]]]:
        """By facet and choice: how many, and the lowest price."""
        found: dict[str, dict[Any, tuple[int, int]]] = {}
        for name, choice_of in FACETS.items():
            costs = defaultdict(list)
            for offer in self.matching(partial(_is_about, name)):
                if choice_of(offer) != "":
                    costs[choice_of(offer)].append(self._price(offer))
            found[name] = {choice: (len(each), min(each)) for choice, each in costs.items()}
        offers = self.matching(partial(_is_about, "count"))
        found["count"] = {}
        for number in (1, 2, 4, 8):
            each = [self._price(offer) for offer in offers if offer.gpu_free + offer.gpu_spot >= number]
            found["count"][number] = (len(each), min(each, default=-1))
        return found

    def removed(self) -> list[tuple[Any, int]]:
        return [(what, len(self.matching(but_for=place))) for place, what in enumerate(self.parts)]

    def _price(self, offer: Offer) -> int:
        cost = prices(offer, self.query)
        assert cost is not None
        return cost[0]


def _is_about(term: str, what: Any) -> bool:
    return what.term == term if isinstance(what, Condition) else (what, term) == ("gpu_count", "count")


def key(offer: Offer, query: OfferQuery) -> tuple[Any, Any]:
    cost, worth = prices(offer, query), value(offer, query)
    keys = {
        "price": cost[0] if cost else None,
        "value": -1 if worth is None else worth,
        "reliability": -1 if offer.reliability_ppm is None else offer.reliability_ppm,
        "newest": offer.created_at,
        "vram": offer.vram_mb,
        "gpu_free": offer.gpu_free + offer.gpu_spot,
    }
    return keys[query.sort.removeprefix("-")], offer.pk


FACETS: dict[str, Callable[[Offer], Any]] = {
    "gpu": lambda offer: offer.gpu_model,
    "series": lambda offer: by_slug(offer.gpu_model).series,
    "architecture": lambda offer: by_slug(offer.gpu_model).architecture,
    "region": lambda offer: offer.region,
    "runtime": lambda offer: offer.runtime,
    "simulated": lambda offer: offer.simulated,
    "verified": lambda offer: offer.verified,
    "nvlink": lambda offer: offer.nvlink,
    "disk": lambda offer: offer.disk_kind,
    "vram": lambda offer: offer.vram_mb // 1024,
    "cuda": lambda offer: offer.cuda,
}
