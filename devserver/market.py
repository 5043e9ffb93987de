"""Client of the market's API, with the demo host owner's token."""

import json
from decimal import Decimal
from typing import Any, Final

import httpx

from devserver.paths import Layout


class MarketRefused(Exception):
    """The API refused; the text is its own."""


# Discounts by length of term: the first demo host sells no terms, the second sells months, and so on.
_TERMS: Final[tuple[dict[str, str], ...]] = (
    {},
    {"month": "0.2"},
    {"week": "0.08", "month": "0.2", "year": "0.4"},
    {"day": "0.03", "year": "0.45", "year3": "0.58"},
)
_SPOT_SHARE: Final = Decimal("0.4")
_CENT: Final = Decimal("0.01")


def sell_every_mode(layout: Layout) -> int:
    """Give the demo's offers prices in other modes than hourly, so that there is something to compare.

    Offers with such prices keep them. Returns how many hosts were changed.
    """
    with _as_host_owner(layout) as market:
        rows = market.get("/hosts", params={"limit": 100}).raise_for_status().json()["results"]
        fresh = [(number, host) for number, host in enumerate(rows) if not any(map(_sells_more, host["offers"]))]
        for number, host in fresh:
            body = {"offers": [_more_modes(number, offer) for offer in host["offers"]]}
            market.patch(f"/hosts/{host['id']}/listing", json=body).raise_for_status()
    return len(fresh)


def _sells_more(offer: dict[str, Any]) -> bool:
    return offer["spot_floor"] is not None or any(offer["reserved_discounts"].values())


def _more_modes(number: int, offer: dict[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] = {"id": offer["id"], "reserved_discounts": _TERMS[number % len(_TERMS)]}
    if number % 2:
        floor = (Decimal(offer["price_hourly"]) * _SPOT_SHARE).quantize(_CENT)
        change["spot_floor"] = str(max(floor, _CENT))
    return change


def _as_host_owner(layout: Layout) -> httpx.Client:
    users = json.loads(layout.demo_file.read_text(encoding="utf-8"))["users"]
    headers = {"Authorization": f"Bearer {users['host']['token']}"}
    return httpx.Client(base_url=f"{layout.url}/api/v1", headers=headers, timeout=10)


def join_token(layout: Layout, *, name: str, region: str, price: str) -> str:
    """Request a one-use token for one host over HTTP, as any host owner would."""
    users = json.loads(layout.demo_file.read_text(encoding="utf-8"))["users"]
    reply = httpx.post(
        f"{layout.url}/api/v1/join-tokens",
        headers={"Authorization": f"Bearer {users['host']['token']}"},
        json={"host_name": name, "region": region, "price_hourly": price},
        timeout=10,
    )
    if not reply.is_success:
        raise MarketRefused(f"{reply.status_code}: {reply.text}")
    return str(reply.json()["token"])
