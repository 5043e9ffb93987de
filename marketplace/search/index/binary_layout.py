"""Transfer format of offers: a binary COPY with fields of fixed width, which numpy reads directly."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from marketplace.pricing.offer_requirements import ORDERABLE_SQL

# Numbers that may be unknown are -1 in memory; a host without a planned end stays for ever.
UNKNOWN: Final = -1
TERMS_SOLD: Final = ("day", "week", "month", "year", "year3")
WORDS: Final = ("gpu", "region", "runtime", "disk", "cuda")

_TEXT: Final = {"gpu": "gpu_model", "region": "region", "runtime": "runtime", "disk": "disk_kind", "cuda": "cuda"}
# Name in memory: SQL to select, PostgreSQL type, numpy type. Texts are sent as 64-bit hashes.
_FIELDS: Final = {
    "id": ("id", "uuid", "S16"),
    "host": ("host_id", "uuid", "S16"),
    **{name: (f"hashtextextended({column}, 0)", "int8", ">i8") for name, column in _TEXT.items()},
    "simulated": ("simulated", "bool", "?"),
    "verified": ("verified", "bool", "?"),
    "nvlink": ("nvlink", "bool", "?"),
    "tiered": ("tiers <> '[]'::jsonb", "bool", "?"),
    "count": (ORDERABLE_SQL, "int4", ">i4"),
    "gpu_total": ("gpu_total", "int4", ">i4"),
    "vram": ("vram_mb", "int4", ">i4"),
    "cpu": ("cpu_millis_per_gpu", "int4", ">i4"),
    "ram": ("ram_mb_per_gpu", "int4", ">i4"),
    "disk_free": ("disk_free_gb", "int4", ">i4"),
    **{
        name: (f"coalesce({column}, {UNKNOWN})", "int4", ">i4")
        for name, column in (
            ("disk_read", "disk_read_mbps"),
            ("disk_write", "disk_write_mbps"),
            ("net_up", "net_up_mbps"),
            ("net_down", "net_down_mbps"),
            ("reliability", "reliability_ppm"),
        )
    },
    "lease_hours": ("coalesce(listed_until, 'infinity')", "timestamptz", ">i8"),
    "created": ("created_at", "timestamptz", ">i8"),
    "hourly": ("price_micros", "int8", ">i8"),
    "spot": (
        f"CASE WHEN spot_floor_micros IS NULL THEN {UNKNOWN} ELSE greatest(spot_floor_micros, spot_now_micros) END",
        "int8",
        ">i8",
    ),
    "disk_price": ("disk_micros_gb_day", "int8", ">i8"),
    **{
        f"off_{term}": (f"coalesce((reserved_discounts ->> '{term}')::int4, {UNKNOWN})", "int4", ">i4")
        for term in TERMS_SOLD
    },
    "xid": ("changed_xid", "int8", ">i8"),
}
_SELECTED: Final = ", ".join(f"({what})::{kind} AS {name}" for name, (what, kind, _) in _FIELDS.items())
SELECT: Final = f"SELECT {_SELECTED} FROM marketplace_offer"  # noqa: S608  (constants of this module)

_HEADER_BYTES: Final = 19
_RECORD: Final = np.dtype(
    [("fields", ">i2")]
    + [part for name, (_, _, kind) in _FIELDS.items() for part in ((f"{name}_size", ">i4"), (name, kind))]
)


def decode(copied: memoryview) -> NDArray[Any]:
    """Return the records of a binary COPY of SELECT."""
    return np.frombuffer(copied, _RECORD, offset=_HEADER_BYTES, count=(len(copied) - _HEADER_BYTES) // _RECORD.itemsize)


def text_of(name: str) -> str:
    """Return the table column that contains the text of `name`."""
    return _TEXT[name]


# PostgreSQL counts microseconds from the year 2000; its infinity is the largest number.
FOR_EVER: Final = np.iinfo(np.int64).max
