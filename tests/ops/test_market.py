"""The demo's hosts sell more than hourly: set over the market's own API, once."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from accounts.tokens.services import issue_token
from devserver.market import sell_every_mode
from devserver.paths import Layout
from marketplace.models import Offer
from tests.marketplace.shapes import enrolled


@pytest.mark.django_db(transaction=True)
def test_some_hosts_sell_more(live_server: LiveServer, tmp_path: Path, hana: User) -> None:
    for number in range(4):
        enrolled(hana, 1, name=f"sim-{number}", price=20_000)
    _, token = issue_token(user=hana, name="demo", scopes=["hosts:read", "hosts:write"])
    layout = Layout(tmp_path, urlsplit(live_server.url).port or 0)
    layout.demo_file.write_text(json.dumps({"users": {"host": {"token": token}}}))
    assert sell_every_mode(layout) == 4
    sold = list(Offer.objects.order_by("host__name").values_list("reserved_discounts", "spot_floor_micros"))
    assert sold == [
        ({}, None),
        ({"month": 2_000}, 10_000),
        ({"week": 800, "month": 2_000, "year": 4_000}, None),
        ({"day": 300, "year": 4_500, "year3": 5_800}, 10_000),
    ]
    assert sell_every_mode(layout) == 1  # those that sell more keep their prices
    assert list(Offer.objects.order_by("host__name").values_list("reserved_discounts", "spot_floor_micros")) == sold
