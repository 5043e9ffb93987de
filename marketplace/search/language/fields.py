"""Fields of a search: every term with its kind, unit and column, and queries made of conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from marketplace.constants import PAGE_SIZE
from marketplace.pricing.offer_requirements import NO_IMAGE, ImageNeeds


class Kind(StrEnum):
    NUMBER = "number"
    MONEY = "money"  # a Decimal of the market's currency in a condition; micro-units in columns
    VERSION = "version"  # "12.4"; compared part by part
    CHOICE = "choice"
    FLAG = "flag"


class Op(StrEnum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    IN = "in"
    NOT_IN = "notin"


ORDERED: Final = frozenset({Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE, Op.IN, Op.NOT_IN})
UNORDERED: Final = frozenset({Op.EQ, Op.NE, Op.IN, Op.NOT_IN})
SUFFIX: Final[Mapping[str, Op]] = {
    "": Op.EQ,
    "ne": Op.NE,
    "lt": Op.LT,
    "lte": Op.LE,
    "gt": Op.GT,
    "gte": Op.GE,
    "in": Op.IN,
    "notin": Op.NOT_IN,
}

Scalar = str | bool | int | Decimal


@dataclass(frozen=True)
class Term:
    """One searchable field.

    `unit` is shown beside the value; an unknown measurement matches no condition but `!=`.
    """

    name: str
    kind: Kind
    unit: str = ""

    @property
    def ops(self) -> frozenset[Op]:
        return UNORDERED if self.kind in (Kind.CHOICE, Kind.FLAG) else ORDERED


# `count` is GPUs to be had together; `price` is per GPU-hour and `total` per hour of all requested GPUs, both in the
# chosen billing mode and with the data disk above the free quota divided over the GPUs; `lease_hours` is how long the
# host promises to stay (no planned end matches every minimum); `value` is TFLOPS (FP16) per unit of money and hour.
TERMS: Final[Mapping[str, Term]] = {
    term.name: term
    for term in (
        Term("gpu", Kind.CHOICE),  # slug of the catalogue
        Term("series", Kind.CHOICE),
        Term("architecture", Kind.CHOICE),
        Term("vram", Kind.NUMBER, "GB"),
        Term("fp16", Kind.NUMBER, "TFLOPS"),
        Term("fp32", Kind.NUMBER, "TFLOPS"),
        Term("count", Kind.NUMBER),
        Term("gpu_total", Kind.NUMBER),
        Term("nvlink", Kind.FLAG),
        Term("region", Kind.CHOICE),
        Term("host", Kind.CHOICE),  # public id
        Term("verified", Kind.FLAG),
        Term("simulated", Kind.FLAG),
        Term("runtime", Kind.CHOICE),
        Term("reliability", Kind.NUMBER),  # 0 to 1
        Term("lease_hours", Kind.NUMBER, "h"),
        Term("price", Kind.MONEY),
        Term("total", Kind.MONEY),
        Term("value", Kind.NUMBER),
        Term("cuda", Kind.VERSION),
        Term("cpu", Kind.NUMBER),  # cores per GPU
        Term("ram", Kind.NUMBER, "GB"),  # per GPU
        Term("disk", Kind.CHOICE),  # nvme, ssd, hdd
        Term("disk_free", Kind.NUMBER, "GB"),
        Term("disk_read", Kind.NUMBER, "MB/s"),
        Term("disk_write", Kind.NUMBER, "MB/s"),
        Term("net_up", Kind.NUMBER, "Mbit/s"),
        Term("net_down", Kind.NUMBER, "Mbit/s"),
    )
}

# The parameters of the API that are not written as `<term>__<suffix>`.
PARAMETERS: Final[Mapping[str, tuple[str, Op]]] = {
    "gpu_model": ("gpu", Op.IN),
    "gpu_series": ("series", Op.IN),
    "region": ("region", Op.IN),
    "reliability_min": ("reliability", Op.GE),
    "lease_hours_min": ("lease_hours", Op.GE),
    "vram_gb_min": ("vram", Op.GE),
    "price_max": ("price", Op.LE),
    "cuda_min": ("cuda", Op.GE),
    "cpu_cores_min": ("cpu", Op.GE),
    "ram_gb_min": ("ram", Op.GE),
    "disk_kind": ("disk", Op.IN),
    "disk_read_min": ("disk_read", Op.GE),
    "net_up_min": ("net_up", Op.GE),
    "net_down_min": ("net_down", Op.GE),
    "verified": ("verified", Op.EQ),
    "runtime": ("runtime", Op.EQ),
    "simulated": ("simulated", Op.EQ),
    "nvlink": ("nvlink", Op.EQ),
}

BILLING_MODES: Final = ("hourly", "reserved", "tiered", "spot")
SORTS: Final = ("price", "value", "reliability", "newest", "vram", "gpu_free")  # with a leading "-": descending


@dataclass(frozen=True)
class Condition:
    """One condition; `value` is a tuple for IN and NOT_IN, else one value of the term's type."""

    term: str
    op: Op
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True)
class OfferQuery:
    """A search: conditions that must all hold, and the options that prices are computed for.

    `gpu_count` GPUs must be free together. `image_needs` are the requirements of the chosen image; `image` is
    only carried along so that the query can be written as text again.
    """

    conditions: tuple[Condition, ...] = ()
    gpu_count: int = 1
    billing_mode: str = "hourly"
    term: str = "month"  # of reserved prices
    data_disk_gb: int = 0
    image: str = ""
    image_needs: ImageNeeds = NO_IMAGE
    sort: str = "price"
    limit: int = PAGE_SIZE
    cursor: str | None = None
