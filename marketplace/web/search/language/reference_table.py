"""The grammar of the search box as a table, for the API, the documentation and authors of clients."""

from dataclasses import dataclass
from typing import Final

from marketplace.search.language import field_names
from marketplace.search.language.fields import TERMS, Kind, Op
from marketplace.search.language.options import WISHES
from marketplace.search.language.values import UNITS, known_choices
from marketplace.web.search.language.query_string import COMPARED

# What each term means, in one line; the documentation and the OpenAPI document use these texts.
ABOUT: Final = {
    "gpu": "GPU model: slug of the catalogue, or a name that means one model (4090, rtx3090)",
    "series": "Series of the GPU model",
    "architecture": "Architecture of the GPU model",
    "vram": "Memory of each GPU",
    "fp16": "Rate of the model in FP16",
    "fp32": "Rate of the model in FP32",
    "count": "GPUs that can be ordered together: free, or free in about two minutes when spot rents yield",
    "gpu_total": "GPUs of the model on the host",
    "nvlink": "GPUs linked by NVLink",
    "region": "Region, as the host owner wrote it",
    "host": "One host, by id",
    "verified": "Host that passed its self-test and was verified",
    "simulated": "Simulated host or GPUs",
    "runtime": "What runs the containers",
    "reliability": "Share of 1, from the host's public ledger",
    "lease_hours": "How long the host promises to stay; no end planned fits every minimum",
    "price": "Per GPU and hour in the chosen mode, data disk included",
    "total": "Per hour for all GPUs wanted, data disk included",
    "value": "TFLOPS (FP16, else FP32) for each unit of money and hour",
    "cuda": "Newest CUDA version that the host's driver runs",
    "cpu": "CPU cores for each GPU",
    "ram": "Memory of the host for each GPU",
    "disk": "Kind of the host's disk",
    "disk_free": "Free space on the host's disk",
    "disk_read": "Measured read speed of the disk",
    "disk_write": "Measured write speed of the disk",
    "net_up": "Measured upload speed",
    "net_down": "Measured download speed",
}


@dataclass(frozen=True)
class Row:
    """One term or option: its form in a line and as parameters, and its values."""

    name: str
    kind: str
    unit: str
    ops: tuple[str, ...]
    parameters: tuple[str, ...]
    units: tuple[str, ...]
    choices: tuple[str, ...]
    about: str


def term_rows() -> list[Row]:
    """Return every term, in the order of the table of terms."""
    return [
        Row(
            name=name,
            kind=term.kind.value,
            unit=term.unit,
            ops=tuple(op.value for op in Op if op in term.ops),
            parameters=tuple(sorted(named.name for named in COMPARED.values() if named.term == name)),
            units=tuple(UNITS.get(name, ())),
            choices=field_names.slugs() if name == "gpu" else tuple(known_choices(name)),
            about=ABOUT[name],
        )
        for name, term in TERMS.items()
    ]


def wish_rows() -> list[Row]:
    """Return every option; `count` is among the terms too, with its other operators."""
    return [
        Row(
            name=wish.name,
            kind=Kind.CHOICE.value if wish.choices else Kind.NUMBER.value if wish.unit or wish.name == "count" else "text",
            unit=wish.unit,
            ops=("=", ">=", ">") if wish.name == "count" else ("=",),
            parameters=(wish.parameter,),
            units=tuple(UNITS.get(wish.name, ())),
            choices=tuple(wish.choices),
            about=wish.about,
        )
        for wish in WISHES.values()
    ]
