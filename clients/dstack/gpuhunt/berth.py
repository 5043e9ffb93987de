"""Offers of a Berth market (https://…/api/v1/offers, which needs no token)."""

import logging
import os
from typing import Any

import requests
from gpuhunt._internal.constraints import find_accelerators
from gpuhunt._internal.models import AcceleratorVendor, CatalogItem, JSONObject, QueryFilter
from gpuhunt.providers.base import OnlineProvider, get_creds_env

logger = logging.getLogger(__name__)

TIMEOUT_S = 15
PAGES_AT_MOST = 50
DEFAULT_SEARCH = "not simulated"
# Disk that is promised where a host keeps no limit on the system disk: no more than this share of what is free.
FREE_DISK_SHARE = 0.5


class BerthProvider(OnlineProvider):
    """Each offer of a host becomes one item for each number of GPUs that are free, hourly and, where it sells that, spot.

    Args:
        url: Address of the market
        search: A line of the market's search, which every offer has to match
    """

    NAME = "berth"

    def __init__(self, url: str, search: str = DEFAULT_SEARCH):
        self.url = url.rstrip("/")
        self.search = search

    @classmethod
    def from_env(cls) -> "BerthProvider":
        return cls(get_creds_env("BERTH_URL"), os.getenv("BERTH_SEARCH", DEFAULT_SEARCH))

    def get(
        self,
        query_filter: QueryFilter | None = None,
        balance_resources: bool = True,
        apply_filter: bool = False,
    ) -> list[CatalogItem]:
        found = [item for offer in self._offers() for item in make_items(offer)]
        return sorted(found, key=lambda item: item.price)

    def _offers(self) -> list[dict[str, Any]]:
        url: str | None = f"{self.url}/api/v1/offers"
        params: dict[str, str | int] | None = {"q": self.search, "sort": "price", "limit": 200}
        offers: list[dict[str, Any]] = []
        for _ in range(PAGES_AT_MOST):
            if url is None:
                break
            if not url.startswith(f"{self.url}/"):
                raise ValueError("The market's next page is at another address")
            answer = requests.get(url, params=params, timeout=TIMEOUT_S)
            answer.raise_for_status()
            page = answer.json()
            offers += page["results"]
            url, params = page["next"], None
        return offers


def make_items(offer: dict[str, Any]) -> list[CatalogItem]:
    """Return the items of one offer; none, with a warning, of what isn't an offer or a GPU that gpuhunt doesn't know."""
    try:
        known = find_accelerators(names=[gpu_name(offer["gpu"]["model"])], vendors=[AcceleratorVendor.NVIDIA])
        if not known:
            logger.debug("Offer %s has a GPU that gpuhunt doesn't know: %s", offer["id"], offer["gpu"]["model"])
            return []
        prices = [(False, float(offer["prices"]["hourly"]))]
        if offer["prices"]["spot"]["now"] is not None:
            prices.append((True, float(offer["prices"]["spot"]["now"])))
        counts = range(1, int(offer["gpu_free"]) + 1)
        return [_item(offer, known[0].name, count, spot, price) for count in counts for spot, price in prices]
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("An offer can't be read: %r", error)
        return []


def _item(offer: dict[str, Any], name: str, count: int, spot: bool, price: float) -> CatalogItem:
    data: JSONObject = {"offer": offer["id"], "gpu_count": count, "billing_mode": "spot" if spot else "hourly"}
    disk = offer["system_disk_gb"] or offer["disk"]["free_gb"] * FREE_DISK_SHARE
    return CatalogItem(
        provider=BerthProvider.NAME,
        instance_name=f"{offer['id']}-{count}",
        location=str(offer["host"]["region"]),
        price=round(price * count, 6),
        cpu=max(1, int(offer["per_gpu"]["cpu_cores"] * count)),
        memory=float(offer["per_gpu"]["ram_gb"] * count),
        gpu_vendor=AcceleratorVendor.NVIDIA,
        gpu_count=count,
        gpu_name=name,
        gpu_memory=float(offer["gpu"]["vram_gb"]),
        spot=spot,
        disk_size=float(int(disk)),
        provider_data=data,
    )


def gpu_name(model: str) -> str:
    """Return gpuhunt's name of a model: `RTX 4090` is RTX4090, `RTX A6000` A6000, `H100 SXM` H100."""
    words = [each for each in model.replace("-", " ").split() if each not in ("NVIDIA", "GeForce", "Tesla", "Quadro")]
    words = [
        each for each in words if not each.upper().endswith("GB") and each not in ("PCIe", "SXM", "SXM2", "SXM4", "SXM5")
    ]
    if len(words) > 1 and words[0] == "RTX" and words[1][0] == "A" and words[1][1:].isdigit():
        words = words[1:]
    return "".join(words)
