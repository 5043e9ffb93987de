"""The host owner's pages of prices, and the chart that everyone sees."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from common.ids import public_id
from marketplace.hosts.offers import set_listed_until, set_price
from marketplace.models import Host, Offer
from tests.marketplace.shapes import PRICE, leased, offer_of

HTMX = {"HX-Request": "true"}
WHOLE = {
    "price_micros": "3.06",
    "day": "",
    "week": "8",
    "month": "20.5",
    "year": "",
    "year3": "58",
    "tiers": "168:5, 720:15 %",
    "spot_floor": "1.2",
    "disk_gb_day": "0.003",
    "hold": "35.5",
}


@pytest.fixture
def page(client: Client, hana: User) -> Client:
    client.force_login(hana)
    return client


def path(offer: Offer) -> str:
    return f"/offers/{public_id('offr', offer.pk)}/prices"


def test_all_prices_are_shown_and_saved(page: Client, host: Host, offer: Offer) -> None:
    assert 'value="2.00"' in page.get(path(offer)).content.decode()
    text = page.post(path(offer), WHOLE, headers=HTMX).content.decode()
    assert "Saved." in text
    assert "<html" not in text
    saved = offer_of(host)
    assert (saved.price_micros, saved.spot_floor_micros, saved.disk_micros_gb_day) == (3_060_000, 1_200_000, 3_000)
    assert saved.reserved_discounts == {"week": 800, "month": 2_050, "year3": 5_800}
    assert saved.tiers == [[168, 500], [720, 1_500]]
    assert saved.hold_bps == 3_550
    again = page.get(path(offer)).content.decode()
    assert 'value="168:5, 720:15"' in again
    assert 'value="20.5"' in again


def test_what_is_sent_empty_ends(page: Client, host: Host, offer: Offer) -> None:
    page.post(path(offer), WHOLE)
    page.post(path(offer), {**WHOLE, "week": "", "tiers": "", "spot_floor": "", "disk_gb_day": "", "hold": ""})
    saved = offer_of(host)
    assert saved.reserved_discounts == {"month": 2_050, "year3": 5_800}
    assert (saved.tiers, saved.spot_floor_micros, saved.disk_micros_gb_day, saved.hold_bps) == ([], None, 0, 0)


def test_what_is_not_sent_stays(page: Client, host: Host, offer: Offer) -> None:
    page.post(path(offer), WHOLE)
    page.post(path(offer), {"price_micros": "4"})
    saved = offer_of(host)
    assert (saved.price_micros, saved.spot_floor_micros, len(saved.tiers)) == (4_000_000, 1_200_000, 2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"price_micros": "0"}, "Enter a price above zero."),
        ({"price_micros": "much"}, "Enter a price, such as 1.50."),
        ({"spot_floor": "3.07"}, "no higher than the on-demand price"),
        ({"month": "91"}, "less than or equal to 90"),
        ({"hold": "101"}, "less than or equal to 100"),
        ({"tiers": "720"}, "Enter steps, such as"),
        ({"tiers": "720:15, 800:15"}, "must be larger than the previous one"),
        ({"tiers": "720.5:15"}, "Use whole hours"),
        ({"tiers": "800:15, 720:20"}, "later than the previous one"),
        ({"tiers": "720:95"}, "at most 90"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    page: Client, host: Host, offer: Offer, wrong: dict[str, str], words: str
) -> None:
    text = page.post(path(offer), {**WHOLE, **wrong}, headers=HTMX).content.decode()
    assert words in text
    assert "Saved." not in text
    assert offer_of(host).version == offer.version


def test_the_quick_price_keeps_above_the_floor(page: Client, host: Host, offer: Offer) -> None:
    page.post(path(offer), WHOLE)
    quick = path(offer).removesuffix("s")
    text = page.post(quick, {"price_micros": "1"}, follow=True).content.decode()
    assert "not below the spot floor price" in text
    page.post(quick, {"price_micros": "1.2"})
    assert offer_of(host).price_micros == 1_200_000


def test_until(page: Client, hana: User, host: Host, offer: Offer) -> None:
    day = (clock.now() + timedelta(days=20)).date()
    address = f"/hosts/{public_id('host', host.pk)}/until"
    assert "Saved" in page.post(address, {"until": day.isoformat()}, follow=True).content.decode()
    end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    assert offer_of(host).listed_until == end
    assert f'value="{day.isoformat()}"' in page.get("/hosts").content.decode()
    leased(offer_of(host))
    earlier = (day - timedelta(days=1)).isoformat()
    assert "not before the end of existing rentals" in page.post(address, {"until": earlier}, follow=True).content.decode()
    assert offer_of(host).listed_until == end
    page.post(address, {"until": ""})
    assert offer_of(host).listed_until is None


@pytest.mark.parametrize("who", ["alice", "bob", "stella"])
def test_others_see_and_change_nothing(
    client: Client, host: Host, offer: Offer, who: str, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(who))
    assert client.get(path(offer)).status_code == 404
    assert client.post(path(offer), WHOLE).status_code == 404
    assert client.post(f"/hosts/{public_id('host', host.pk)}/until", {"until": ""}).status_code == 404
    assert offer_of(host).version == offer.version


def test_strangers_sign_in_first(client: Client, offer: Offer) -> None:
    assert client.get(path(offer))["Location"].startswith("/accounts/login/")


def test_the_panel_sets_the_same(page: Client, host: Host, offer: Offer) -> None:
    address = f"/host-panel/marketplace/offer/{offer.pk}/change/"
    assert page.get(address).status_code == 200
    form = {name: value for name, value in WHOLE.items() if name not in ("price_micros", "tiers")}
    reply = page.post(address, {**form, "price": "3.06", "tiers_line": WHOLE["tiers"], "listed": "on"})
    assert reply.status_code == 302, reply.content
    saved = offer_of(host)
    assert (saved.price_micros, saved.tiers, saved.spot_floor_micros) == (3_060_000, [[168, 500], [720, 1_500]], 1_200_000)
    assert (saved.reserved_discounts["month"], saved.listed) == (2_050, True)


def test_the_offer_page_has_the_chart(client: Client, hana: User, host: Host, offer: Offer) -> None:
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE * 2)
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=None)
    text = client.get(f"/offers/{public_id('offr', offer.pk)}").content.decode()
    assert "Price history" in text
    assert "between $2.00 and $4.00" in text
    assert 'class="chart chart-low" role="img"' in text
