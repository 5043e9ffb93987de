"""The grammar of the search box as a table, for the API, the documentation and authors of clients."""

from dataclasses import dataclass
from typing import Final

from marketplace.search.language import field_names
from marketplace.search.language.fields import TERMS, Kind, Op
from marketplace.search.language.options import OPTIONS
from marketplace.search.language.values import UNITS, known_choices
from marketplace.web.search.language.query_string import COMPARED

# What each term means, in one line; the documentation and the OpenAPI document use these texts.
ABOUT: Final = {
    "gpu": "GPU model: catalog slug, or an unambiguous name (4090, rtx3090)",
    "series": "Series of the GPU model",
    "architecture": "Architecture of the GPU model",
    "vram": "Memory per GPU",
    "fp16": "FP16 performance of the model",
    "fp32": "FP32 performance of the model",
    "count": "GPUs that can be ordered together: free, or free in about two minutes when spot instances are interrupted",
    "gpu_total": "GPUs of the model on the host",
    "nvlink": "GPUs linked by NVLink",
    "region": "Region, as entered by the host owner",
    "host": "One host, by ID",
    "verified": "Verified host: passed its self-test recently",
    "simulated": "Simulated host or GPUs",
    "runtime": "Container runtime",
    "reliability": "Reliability from 0 to 1, from the host's public events",
    "lease_hours": "How long the host is committed to stay available; no end date matches every minimum",
    "price": "Per GPU and hour in the chosen mode, data disk included",
    "total": "Per hour for all GPUs wanted, data disk included",
    "value": "TFLOPS (FP16, otherwise FP32) per unit of currency and hour",
    "cuda": "Latest CUDA version supported by the host's driver",
    "cpu": "CPU cores per GPU",
    "ram": "Host memory per GPU",
    "disk": "Type of the host's disk",
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


def option_rows() -> list[Row]:
    """Return every option; `count` is among the terms too, with its other operators."""
    return [
        Row(
            name=option.name,
            kind=Kind.CHOICE.value
            if option.choices
            else Kind.NUMBER.value
            if option.unit or option.name == "count"
            else "text",
            unit=option.unit,
            ops=("=", ">=", ">") if option.name == "count" else ("=",),
            parameters=(option.parameter,),
            units=tuple(UNITS.get(option.name, ())),
            choices=tuple(option.choices),
            about=option.about,
        )
        for option in OPTIONS.values()
    ]
