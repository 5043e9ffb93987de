"""The market's API as the stack itself uses it: with the demo host owner's token."""

import json

import httpx

from config.local.layout import Layout


class MarketRefused(Exception):
    """The API refused; the text is its own."""


def join_token(layout: Layout, *, name: str, region: str, price: str) -> str:
    """A one-use token for one host, asked for over HTTP as any host owner would."""
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
