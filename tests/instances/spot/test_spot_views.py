"""Pages of the spot market: a bid's outlook, the form that changes it, the panel of a spot rent, the price chart."""

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from instances.models import Instance, SpotBid
from instances.spot.market_tick import tick_offer
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order
from tests.instances.fixtures import Clock
from tests.instances.spot.bidders import bid, with_spot

HTMX = {"HX-Request": "true"}


@pytest.fixture
def spot(host: FakeHost) -> FakeHost:
    """Four GPUs, 3.60 by the hour, spot from 0.50."""
    return with_spot(host)


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


@pytest.fixture
def bo(hours: Clock, bob: User) -> User:
    grant(bob, 1_000 * UNIT)
    return bob


def offer_path(host: FakeHost) -> str:
    return f"/offers/{public_id('offr', host.offer.pk)}"


def path(instance: Instance) -> str:
    return f"/instances/{public_id('inst', instance.pk)}"


def text(client: Client, where: str, **headers: str) -> str:
    response = client.get(where, headers=headers or None)
    assert response.status_code == 200, where
    return " ".join(response.content.decode().split())


def maximum(instance: Instance) -> int:
    return SpotBid.objects.get(pk=instance.pk).max_price_micros


# -- what a bid would come to


def test_the_outlook_says_who_would_win_and_at_what_price(client: Client, rin: User, spot: FakeHost, hours: Clock) -> None:
    look = f"{offer_path(spot)}/spot-outlook"
    assert "Would start now, at $0.50/GPU-hour" in text(client, f"{look}?max_price=0.5&gpu_count=4")
    assert "This price can't get GPUs" in text(client, f"{look}?max_price=0.49")
    bid(rin, spot, 1.00, gpus=4)
    assert "Would wait: others bid more" in text(client, f"{look}?max_price=0.9")
    assert "Would wait: others bid more" in text(client, f"{look}?max_price=1"), (
        "an equal one that came earlier stands first"
    )
    assert "Would wait" in text(client, f"{look}?max_price=2"), "it sits: its minimum run time is not over"
    hours.advance(minutes=10)
    assert "Would start now, at $0.50/GPU-hour" in text(client, f"{look}?max_price=2&gpu_count=1"), "three stay free then"
    found = text(client, f"{look}?max_price=2&gpu_count=4")
    assert "Would start now, at $1.00/GPU-hour" in found
    assert "Other spot instances must give up their GPUs first" in found
    assert "this price would have run all the time" in found


def test_the_outlook_of_nothing_is_the_market_alone(client: Client, spot: FakeHost) -> None:
    look = f"{offer_path(spot)}/spot-outlook"
    for odd in ("", "?max_price=", "?max_price=much", "?max_price=-1", "?max_price=9999999999&gpu_count=1"):
        found = text(client, look + odd)
        assert "Floor" in found
        assert "Wins" not in found
    assert client.get("/offers/offr_" + "0" * 32 + "/spot-outlook").status_code == 404


def test_more_gpus_than_are_left_is_said_as_such(client: Client, rin: User, spot: FakeHost) -> None:
    order(rin, spot, gpu_count=2)
    assert "so this bid would wait" in text(client, f"{offer_path(spot)}/spot-outlook?max_price=3&gpu_count=3")


# -- the form that changes a bid


def test_the_form_shows_the_bid_and_what_another_would_come_to(page: Client, rin: User, spot: FakeHost) -> None:
    mine = bid(rin, spot, 1.00, gpus=2)
    whole = text(page, f"{path(mine)}/bid")
    assert 'value="1.00"' in whole
    assert "<html" in whole
    assert "Would start now, at $0.50/GPU-hour" in whole
    part = text(page, f"{path(mine)}/bid", **HTMX)
    assert "<html" not in part
    assert "bid-form" in part
    outlook = text(page, f"{path(mine)}/bid?outlook=1&max_price=0.2", **HTMX)
    assert "This price can't get GPUs" in outlook
    assert "bid-form" not in outlook


def test_a_change_is_made_and_the_page_loaded_anew(page: Client, rin: User, spot: FakeHost) -> None:
    mine = bid(rin, spot, 1.00)
    reply = page.post(f"{path(mine)}/bid", {"max_price": "1.5"}, headers=HTMX)
    assert (reply.status_code, reply["HX-Redirect"]) == (204, path(mine))
    reply = page.post(f"{path(mine)}/bid", {"max_price": "1.75"})
    assert (reply.status_code, reply["Location"]) == (302, path(mine))
    assert maximum(mine) == 1_750_000
    assert "Max price changed" in text(page, path(mine))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("0.4", "Enter a max price per GPU-hour of 0.50 or more."),
        ("much", "Check the highlighted fields."),
        ("", "Check the highlighted fields."),
        ("900000", "have enough funds for the first hour"),
    ],
)
def test_a_refused_change_says_why_and_keeps_what_was_typed(
    page: Client, rin: User, spot: FakeHost, typed: str, words: str
) -> None:
    mine = bid(rin, spot, 1.00)
    reply = page.post(f"{path(mine)}/bid", {"max_price": typed}, headers=HTMX)
    found = reply.content.decode()
    assert reply.status_code == 200
    assert words.lower() in found.lower()
    assert f'value="{typed}"' in found
    assert maximum(mine) == UNIT


def test_bids_of_others_are_not_found_and_strangers_sign_in(client: Client, rin: User, bo: User, spot: FakeHost) -> None:
    mine = bid(rin, spot, 1.00)
    for where in (f"{path(mine)}/bid", f"{path(mine)}/bid/withdraw"):
        assert client.post(where, {"max_price": "2"}).status_code == 302
    client.force_login(bo)
    assert client.get(f"{path(mine)}/bid").status_code == 404
    assert client.post(f"{path(mine)}/bid", {"max_price": "2"}).status_code == 404
    assert client.post(f"{path(mine)}/bid/withdraw").status_code == 404
    assert maximum(mine) == UNIT


# -- the panel of a spot rent


def test_the_page_of_a_spot_rent_follows_its_bid(page: Client, rin: User, bo: User, spot: FakeHost, hours: Clock) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    found = text(page, path(mine))
    assert "Change max price" in found
    assert "$0.50" in found
    hours.advance(minutes=10)
    bid(bo, spot, 2.00, gpus=4)
    found = text(page, path(mine))
    assert "Interrupted in" in found
    assert 'data-until="2025-03-01T09:42:00' in found
    assert "Raise max price" in found
    hours.advance(seconds=120)
    tick_offer(offer_id=spot.offer.pk)
    assert "Interrupting" in text(page, path(mine))
    reply = page.post(f"{path(mine)}/bid/withdraw", headers=HTMX)
    assert (reply.status_code, reply["HX-Redirect"]) == (204, path(mine))
    assert SpotBid.objects.get(pk=mine.pk).state == "ended"
    assert page.get(f"{path(mine)}/bid/withdraw").status_code == 405


def test_who_waits_is_told_why(page: Client, rin: User, bo: User, spot: FakeHost, hours: Clock) -> None:
    bid(bo, spot, 2.00, gpus=4)
    mine = bid(rin, spot, 1.00)
    assert "Waiting for GPUs at your max price" in text(page, path(mine))
    hours.advance(minutes=10)
    waits = order(rin, spot)
    assert "Freeing GPUs for this instance" in text(page, path(waits))


# -- the price chart and the rent page


def test_the_offer_shows_its_spot_market(client: Client, rin: User, bo: User, spot: FakeHost, hours: Clock) -> None:
    assert "No bids yet" in text(client, offer_path(spot))
    bid(rin, spot, 2.00, gpus=4)
    hours.advance(hours=1)
    bid(bo, spot, 1.25)
    hours.advance(hours=1)
    found = text(client, offer_path(spot))
    assert "Spot price per GPU-hour: between $0.50 and $1.25, now $1.25" in found
    assert "Changed once" in found


def test_an_offer_without_a_spot_market_shows_none(client: Client, host: FakeHost) -> None:
    assert "spot-history" not in text(client, offer_path(host))


def test_the_rent_page_asks_for_the_outlook_where_there_is_a_market(page: Client, host: FakeHost) -> None:
    where = f"{offer_path(host)}/rent"
    assert "spot-outlook" not in text(page, where)
    with_spot(host)
    assert f'hx-get="{offer_path(host)}/spot-outlook"' in text(page, where)
