"""Comparison of offers, with differences and best value of each fact; and a visitor's picked offers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from common import clock
from common.errors import FieldError, InvalidInput, NotFound
from common.ids import parse_public_id, public_id
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.pricing.offer_requirements import NO_IMAGE, terms_within
from marketplace.pricing.prices import all_in_micros, spot_price_micros, unit_price_micros
from marketplace.search.language.fields import BILLING_MODES, OfferQuery
from marketplace.search.messages import DISK_LABELS, LENGTH_LABELS, MODE_LABELS, Words, percent_text_of_ppm, reserved_label
from marketplace.search.selectors import offers_like
from marketplace.web.search.filter_panel import USUAL_COUNTS, Choice
from marketplace.web.search.language.query_string import parse_params
from marketplace.web.search.rows import offer_rows, rent_query

AT_MOST: Final = 4
_PICKS: Final = "compare"
_MIB_PER_GIB: Final = 1024

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """Value of one offer in a line."""

    value: Any
    is_best: bool = False


@dataclass(frozen=True)
class Line:
    """One fact of all compared offers; `kind` says how it is drawn."""

    label: Words
    kind: str
    cells: list[Cell]

    @property
    def differs(self) -> bool:
        shown = (cell.value[0] if self.kind == "reliability" else cell.value for cell in self.cells)  # beside the host's id
        return len({str(each) for each in shown}) > 1


@dataclass(frozen=True)
class Fact:
    """How a line is read from a row, and whether more or less of it is better (None: neither)."""

    label: Words
    kind: str
    read: Callable[[Row], Any]
    better: Callable[[Sequence[Any]], Any] | None = None


def _gb(name: str) -> Callable[[Row], int]:
    return lambda row: row[name] // _MIB_PER_GIB


def _column(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


FACTS: Final = (
    Fact(_("Free GPUs"), "number", _column("gpu_free"), max),
    Fact(_("VRAM per GPU"), "GB", _gb("vram_mb"), max),
    Fact("FP16", "TFLOPS", _column("fp16_tflops"), max),
    Fact("FP32", "TFLOPS", _column("fp32_tflops"), max),
    Fact(_("Architecture"), "text", _column("gpu_architecture")),
    Fact("NVLink", "flag", _column("nvlink"), max),
    Fact(_("CPU cores per GPU"), "cores", _column("cpu_millis_per_gpu"), max),
    Fact(_("RAM per GPU"), "GB", _gb("ram_mb_per_gpu"), max),
    Fact(_("CPU"), "text", _column("cpu_model")),
    Fact(_("Disk"), "text", lambda row: DISK_LABELS.get(row["disk_kind"], "")),
    Fact(_("Free disk"), "GB", _column("disk_free_gb"), max),
    Fact(_("System disk"), "limit", _column("system_disk_gb")),
    Fact(_("Disk read"), "MB/s", _column("disk_read_mbps"), max),
    Fact(_("Disk write"), "MB/s", _column("disk_write_mbps"), max),
    Fact(_("Download"), "Mbit/s", _column("net_down_mbps"), max),
    Fact(_("Upload"), "Mbit/s", _column("net_up_mbps"), max),
    Fact("CUDA", "text", _column("cuda")),
    Fact(_("Driver"), "text", _column("driver")),
    Fact(_("Region"), "text", _column("region")),
    Fact(_("Verified"), "flag", _column("verified"), max),
    Fact(_("Reliability"), "reliability", lambda row: (percent_text_of_ppm(row["reliability_ppm"]), row["host_id"])),
    Fact(_("Available through"), "date", _column("listed_until")),
)


def compare_context(ids: Sequence[UUID], params: QueryDict) -> dict[str, Any]:
    """Return the context of the comparison, with prices in every mode for the options in `params`.

    Offers that no longer exist are left out.

    Raises:
        InvalidInput: a parameter is wrong.
    """
    query = replace(parse_params(params, image_needs=lambda _image: NO_IMAGE, others={"ids"}), conditions=())
    rows = offers_like(ids) if ids else []
    keys = [public_id("offr", row["id"]) for row in rows]
    return {
        "offers": offer_rows(rows, query),
        "prices": [_price_line(rows, replace(query, billing_mode=mode)) for mode in BILLING_MODES],
        "lines": [_line(fact, rows) for fact in FACTS],
        "ids": ",".join(keys),
        "query": query,
        "room": AT_MOST - len(rows),
        "counts": [Choice(str(n), str(n), None, n == query.gpu_count) for n in sorted({*USUAL_COUNTS, query.gpu_count})],
        "lengths": [Choice(name, str(words), None, name == query.term) for name, words in LENGTH_LABELS.items()],
        "rent_query": rent_query(query),
        "free_disk_gb": FREE_DATA_DISK_GB,
    }


def _line(fact: Fact, rows: Sequence[Row]) -> Line:
    values = [fact.read(row) for row in rows]
    return Line(fact.label, fact.kind, _cells(values, fact.better))


def _cells(values: Sequence[Any], better: Callable[[Sequence[Any]], Any] | None) -> list[Cell]:
    known = [value for value in values if value not in (None, "")]
    best = better(known) if better and len(set(known)) > 1 else None
    return [Cell(value, best is not None and value == best) for value in values]


def _price_line(rows: Sequence[Row], query: OfferQuery) -> Line:
    mode = str(MODE_LABELS[query.billing_mode])
    label = mode if query.billing_mode != "reserved" else reserved_label(query.term)
    return Line(label, "price", _cells([price_of(row, query) for row in rows], min))


def price_of(row: Row, query: OfferQuery) -> int | None:
    """Return the full price per hour of all GPUs, or None where the mode or term is not available."""
    terms = terms_within(row["reserved_discounts"], listed_until=row["listed_until"], now=clock.now())
    unit = unit_price_micros(
        mode=query.billing_mode,
        term=query.term,
        price_micros=row["price_micros"],
        reserved_discounts={term: row["reserved_discounts"][term] for term in terms},
        tiers=row["tiers"],
        spot_floor_micros=spot_price_micros(floor_micros=row["spot_floor_micros"], now_micros=row["spot_now_micros"]),
    )
    if unit is None:
        return None
    disk = row["disk_micros_gb_day"]
    options = {"data_disk_gb": query.data_disk_gb, "gpu_count": query.gpu_count}
    return all_in_micros(unit_micros=unit, disk_micros_gb_day=disk, **options)[1]


# -- offers picked by a visitor, kept in the session


def picks_of(session: SessionBase) -> list[UUID]:
    return [UUID(hex=key) for key in session.get(_PICKS, [])]


def toggle_pick(session: SessionBase, key: str) -> bool:
    """Add an offer to the picked ones or remove it; return False when there was no room for it."""
    offer_id, picks = parse_public_id("offr", key), picks_of(session)
    if offer_id not in picks and len(picks) >= AT_MOST:
        return False
    picks = [each for each in picks if each != offer_id] if offer_id in picks else [*picks, offer_id]
    session[_PICKS] = [each.hex for each in picks]
    return True


def remove_pick(session: SessionBase, key: str, ids: Sequence[UUID]) -> list[UUID]:
    """Remove an offer from the picked ones, and return the rest of `ids`."""
    offer_id = parse_public_id("offr", key)
    session[_PICKS] = [each.hex for each in picks_of(session) if each != offer_id]
    return [each for each in ids if each != offer_id]


def tray_context(picks: Sequence[UUID], *, full: bool = False) -> dict[str, Any]:
    """Return the picked offers that still exist; `full` when there was no room for one more."""
    chosen = [{**row, "key": public_id("offr", row["id"])} for row in (offers_like(picks) if picks else [])]
    return {"picks": chosen, "pick_ids": ",".join(each["key"] for each in chosen), "full": full}


def read_ids(text: str) -> list[UUID]:
    """Return the distinct offers in `offr_…,offr_…`.

    Raises:
        InvalidInput: a part is not an offer's id.
    """
    try:
        ids = [parse_public_id("offr", each) for each in dict.fromkeys(text.split(",")) if each]
    except NotFound as error:
        raise InvalidInput(error.detail, errors=[FieldError("ids", "invalid", error.detail)]) from error
    return ids[:AT_MOST]


def compare_address(ids: Sequence[UUID]) -> str:
    return f"{reverse('compare')}?ids={','.join(public_id('offr', key) for key in ids)}"
