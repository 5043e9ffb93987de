"""The market: pages of open offers, one offer, counts for each choice of a filter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Min, Q, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan

from common.errors import NotFound
from marketplace.catalogue import by_slug
from marketplace.cursor import Cursor, read_cursor
from marketplace.models import Offer
from marketplace.policy import PAGE_SIZE

# What a page can be sorted by. Equal values are ordered by id, so that pages never overlap.
SORTS = {"price": "price_micros", "vram": "vram_mb", "gpu_free": "gpu_free"}
GPU_COUNTS = (1, 2, 4, 8)
_MIB_PER_GIB = 1024


@dataclass(frozen=True)
class OfferFilter:
    """What a renter asks for. Empty or None means any; `sort` is a name of SORTS, with "-" before it from the top."""

    gpu_model: Sequence[str] = ()
    gpu_count: int = 1
    region: Sequence[str] = ()
    price_max: int | None = None  # micro-units per GPU and hour
    vram_gb_min: int | None = None
    runtime: str | None = None
    simulated: bool | None = None
    sort: str = "price"
    limit: int = PAGE_SIZE
    cursor: str | None = None


@dataclass(frozen=True)
class OfferPage:
    """`offers` are rows of `OfferView`'s fields; the cursors lead to the pages around this one, None where there is none."""

    offers: list[dict[str, Any]]
    next: str | None = None
    previous: str | None = None


@dataclass(frozen=True)
class OfferView:
    """One offer with what its host tells."""

    id: UUID
    version: int
    listed: bool
    host_id: UUID
    host_name: str
    host_state: str
    owner_id: UUID
    draining: bool
    region: str
    verified: bool
    runtime: str
    simulated: bool
    gpu_model: str
    gpu_name: str
    gpu_series: str
    gpu_architecture: str
    vram_mb: int
    gpu_free: int
    gpu_total: int
    cpu_millis_per_gpu: int
    ram_mb_per_gpu: int
    price_micros: int
    cpu_model: str
    disk_kind: str
    disk_free_gb: int
    cuda: str
    driver: str

    @property
    def vram_gb(self) -> int:
        return self.vram_mb // _MIB_PER_GIB


@dataclass(frozen=True)
class FacetChoice:
    """How many open offers one choice of a filter leaves, and the lowest price per GPU-hour among them."""

    value: str | int | bool
    label: str
    count: int
    price_min_micros: int | None


@dataclass(frozen=True)
class Facets:
    """`total` matches every filter; each list ignores its own filter, so that it shows what another choice would give."""

    total: int
    choices: dict[str, list[FacetChoice]] = field(default_factory=dict)


_OWN = (
    *(
        "id",
        "version",
        "listed",
        "host_id",
        "region",
        "runtime",
        "simulated",
        "gpu_model",
        "vram_mb",
        "gpu_free",
        "gpu_total",
    ),
    *(
        "cpu_millis_per_gpu",
        "ram_mb_per_gpu",
        "price_micros",
        "host_name",
        "host_state",
        "draining",
        "verified",
        "cpu_model",
    ),
    *("disk_kind", "disk_free_gb", "cuda", "driver"),
)
_OF_HOST = {"owner_id": F("host__owner_id")}


def open_offers(wanted: OfferFilter) -> list[dict[str, Any]]:
    """One page of offers that can be rented now, as rows of `OfferView`'s fields."""
    return offer_page(wanted).offers


def offer_page(wanted: OfferFilter) -> OfferPage:
    """A page with the cursors around it: keyset paging, so that a deep page costs what the first costs.

    Two steps in one statement: the page's ids from an index that holds every filtered column, then those rows alone.
    """
    column, descending = SORTS[wanted.sort.removeprefix("-")], wanted.sort.startswith("-")
    cursor = read_cursor(wanted.cursor, sort=wanted.sort) if wanted.cursor else None
    backwards = cursor is not None and cursor.backwards
    order = (f"-{column}", "-id") if descending is not backwards else (column, "id")
    matching = _matching(wanted)
    if cursor is not None:
        beyond = TupleLessThan if descending is not backwards else TupleGreaterThan
        matching = matching.filter(beyond(Tuple(F(column), F("id")), (cursor.value, cursor.key)))
    ids = matching.order_by(*order).values("id")[: wanted.limit + 1]
    rows = [_named(row) for row in Offer.objects.filter(id__in=ids).order_by(*order).values(*_OWN, **_OF_HOST)]
    more = len(rows) > wanted.limit
    rows = rows[: wanted.limit]
    if backwards:
        rows.reverse()
    return _page(
        rows, wanted.sort, column, has_next=more or backwards, has_previous=more if backwards else cursor is not None
    )


def offer_view(offer_id: UUID) -> OfferView:
    """One offer, open or not."""
    row = Offer.objects.filter(pk=offer_id).values(*_OWN, **_OF_HOST).first()
    if row is None:
        raise NotFound("There is no such offer.")
    return OfferView(**_named(row))


def facets(wanted: OfferFilter) -> Facets:
    """Counts for each choice, in one query a facet."""
    return Facets(
        total=_matching(wanted).count(),
        choices={
            "gpu_model": _choices(replace(wanted, gpu_model=()), "gpu_model", lambda slug: by_slug(slug).name),
            "region": _choices(replace(wanted, region=()), "region", str),
            "runtime": _choices(replace(wanted, runtime=None), "runtime", str),
            "simulated": _choices(replace(wanted, simulated=None), "simulated", lambda is_so: "yes" if is_so else "no"),
            "gpu_count": _gpu_count_choices(wanted),
        },
    )


def _matching(wanted: OfferFilter) -> QuerySet[Offer]:
    """Open offers under every filter. `gpu_free > 0` is said in so many words: the search indexes are built under it."""
    checks = Q(gpu_free__gt=0) & Q(gpu_free__gte=wanted.gpu_count)
    if wanted.gpu_model:
        checks &= Q(gpu_model__in=wanted.gpu_model)
    if wanted.region:
        checks &= Q(region__in=wanted.region)
    if wanted.price_max is not None:
        checks &= Q(price_micros__lte=wanted.price_max)
    if wanted.vram_gb_min is not None:
        checks &= Q(vram_mb__gte=wanted.vram_gb_min * _MIB_PER_GIB)
    if wanted.runtime is not None:
        checks &= Q(runtime=wanted.runtime)
    if wanted.simulated is not None:
        checks &= Q(simulated=wanted.simulated)
    return Offer.objects.filter(checks)


def _named(row: dict[str, Any]) -> dict[str, Any]:
    model = by_slug(row["gpu_model"])
    row["gpu_name"], row["gpu_series"], row["gpu_architecture"] = model.name, model.series, model.architecture
    return row


def _page(rows: list[dict[str, Any]], sort: str, column: str, *, has_next: bool, has_previous: bool) -> OfferPage:
    if not rows:
        return OfferPage([])
    first, last = rows[0], rows[-1]
    return OfferPage(
        rows,
        next=Cursor(sort, last[column], last["id"]).encode() if has_next else None,
        previous=Cursor(sort, first[column], first["id"], backwards=True).encode() if has_previous else None,
    )


def _choices(wanted: OfferFilter, column: str, label: Callable[[Any], str]) -> list[FacetChoice]:
    rows = _matching(wanted).order_by().values_list(column).annotate(count=Count("pk"), low=Min("price_micros"))
    return [FacetChoice(value, label(value), count, low) for value, count, low in rows.order_by("-count", column)]


def _gpu_count_choices(wanted: OfferFilter) -> list[FacetChoice]:
    sums: dict[str, Any] = {}
    for number in GPU_COUNTS:
        enough = Q(gpu_free__gte=number)
        sums |= {f"count_{number}": Count("pk", filter=enough), f"low_{number}": Min("price_micros", filter=enough)}
    found = _matching(replace(wanted, gpu_count=1)).aggregate(**sums)
    return [FacetChoice(n, str(n), found[f"count_{n}"], found[f"low_{n}"]) for n in GPU_COUNTS]
