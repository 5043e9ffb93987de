"""Write SkyPilot's catalogue of the market in VAST_URL: `python catalog.py`, run by the Python that has SkyPilot.

SkyPilot's own program for Vast (`fetch_vast`) knows machines of 32 cores and 64 GiB alone, leaves out what only one host
offers, and gives 0 as every spot price. This one writes a line for each size of slice and country that can be rented now,
at its lowest price, to the file that SkyPilot reads, or to the one that is named.
"""

import csv
import json
import math
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sky.adaptors import vast
from sky.catalog.common import get_catalog_path

MIB_PER_GIB: Final = 1024
ROWS_AT_MOST: Final = 10_000
# SkyPilot's names of GPUs, where they aren't Vast's without spaces and form.
NAMES: Final = {
    **{"TeslaV100": "V100", "TeslaT4": "T4", "TeslaP100": "P100", "TeslaP40": "P40"},
    **{"QRTX6000": "RTX6000", "QRTX8000": "RTX8000"},
}
A100_MIB: Final = 45_000  # more is the larger of the two
HEAD: Final = (
    *("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo"),
    *("Price", "SpotPrice", "Region", "HostingType"),
)
Offer = Mapping[str, Any]


def main() -> None:
    """Search, and put the file in the place of the former at once."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else get_catalog_path("vast/vms.csv"))
    lines = catalogue(offers("on-demand"), offers("bid"))
    target.parent.mkdir(parents=True, exist_ok=True)
    spare = target.with_name(f".{target.name}.{os.getpid()}")
    with spare.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=HEAD)
        writer.writeheader()
        writer.writerows(lines)
    spare.replace(target)
    sys.stdout.write(f"{len(lines)} lines in {target}\n")


def offers(kind: str) -> list[Offer]:
    """Return what is on the market, of all hosts that are verified."""
    found: list[Offer] = vast.vast().search_offers(query="num_gpus>=1", type=kind, order="dph_total", limit=ROWS_AT_MOST)
    return found


def catalogue(on_demand: list[Offer], bids: list[Offer]) -> list[dict[str, Any]]:
    """Return the lines; what takes bids is on demand, too, so the spot prices belong to lines that are there."""
    spot = {key_of(offer): price_of(offer) for offer in reversed(sorted(bids, key=price_of))}
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for offer in sorted(on_demand, key=price_of):
        key = key_of(offer)
        lines.setdefault(key, line_of(offer, key, spot.get(key)))
    return [lines[key] for key in sorted(lines)]


def line_of(offer: Offer, key: tuple[str, str], spot: float | None) -> dict[str, Any]:
    """Return a line of the catalogue; without a spot price, SkyPilot asks for none there."""
    name, count = accelerator(offer), int(offer["num_gpus"])
    total = int(offer["gpu_total_ram"])
    gpus = {"Gpus": [{"Name": name, "Count": count, "MemoryInfo": {"SizeInMiB": total}}], "TotalGpuMemoryInMiB": total}
    return {
        "InstanceType": key[0],
        "AcceleratorName": name,
        "AcceleratorCount": count,
        "vCPUs": offer["cpu_cores_effective"],
        "MemoryGiB": memory(offer) / MIB_PER_GIB,
        "GpuInfo": json.dumps(gpus).replace('"', "'"),
        "Price": f"{price_of(offer):.4f}",
        "SpotPrice": "" if spot is None else f"{spot:.4f}",
        "Region": key[1],
        "HostingType": offer["hosting_type"],
    }


def key_of(offer: Offer) -> tuple[str, str]:
    """Return the type, as the patched `launch` reads it, and the country."""
    gpu = re.sub(r"\s", "_", offer["gpu_name"])
    cores = math.floor(offer["cpu_cores_effective"])
    return f"{offer['num_gpus']}x-{gpu}-{cores}-{memory(offer)}", offer["geolocation"][-2:]


def memory(offer: Offer) -> int:
    """Return the memory of the slice in MiB; the search has that of the whole machine."""
    return math.floor(offer["cpu_ram"] * offer["gpu_frac"])


def price_of(offer: Offer) -> float:
    return float(offer["search"]["totalHour"])


def accelerator(offer: Offer) -> str:
    """Return SkyPilot's name of the GPU."""
    name = re.sub("Ada", "-Ada", re.sub(r"\s", "", offer["gpu_name"]))
    name = re.sub(r"(Ti|PCIE|SXM4|SXM|NVL)$", "", name)
    name = re.sub(r"(RTX\d0\d0)(S|D)$", r"\1", name)
    if name == "A100" and offer["gpu_ram"] > A100_MIB:
        return "A100-80GB"
    return NAMES.get(name, name)


if __name__ == "__main__":
    main()
