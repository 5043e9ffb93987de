"""Home, market, offer and host pages, walked by strangers, renters and host owners."""

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from marketplace.models import Host, JoinToken, Offer
from marketplace.services.offers import set_listed
from tests.marketplace.shapes import enrolled, gpu, offer_of


def _offr(offer: Offer) -> str:
    return public_id("offr", offer.pk)


@pytest.fixture
def several(hana: User) -> dict[str, Host]:
    return {
        "big": enrolled(hana, 4, name="big", region="eu", price=400_000),
        "cheap": enrolled(hana, 1, name="cheap", region="us", price=100_000),
        "sim": enrolled(hana, [gpu(name="Tesla T4", vram_mb=15_360)], name="sim", region="eu", runtime="simulated"),
    }


def _market(client: Client, **query: str | int | list[str]) -> str:
    return client.get("/market", query).content.decode()


@pytest.mark.django_db
def test_empty_market_is_told(client: Client) -> None:
    assert "No host has a free GPU right now" in client.get("/").content.decode()
    assert "Every GPU is taken right now" in _market(client)


def test_home_counts_and_shows_the_cheapest(client: Client, several: dict[str, Host]) -> None:
    text = client.get("/").content.decode()
    assert "RTX 4090" in text
    assert "from $0.10" in text
    assert "Simulated" in text


def test_market_lists_and_multiplies(client: Client, several: dict[str, Host]) -> None:
    text = _market(client, gpu_count=4)
    assert "4 × RTX 4090" in text
    assert "$1.60" in text
    assert "32 cores" in text
    assert ">cheap<" not in text


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ({"region": "us"}, "cheap", "big"),
        ({"gpu_model": "t4"}, "sim", "big"),
        ({"gpu_model": ["t4", "rtx-4090"], "region": ["us"]}, "cheap", "sim"),
        ({"price_max": "0.2"}, "cheap", "big"),
        ({"simulated": "yes"}, "sim", "cheap"),
        ({"simulated": "no"}, "big", "sim"),
        ({"vram_gb_min": "24"}, "big", "sim"),
    ],
)
def test_filters(
    client: Client, several: dict[str, Host], query: dict[str, str | list[str]], there: str, not_there: str
) -> None:
    text = client.get("/market", query, headers={"HX-Request": "true"}).content.decode()
    assert f">{there}<" in text
    assert f">{not_there}<" not in text


def test_part_pushes_an_address_that_can_be_shared(client: Client, several: dict[str, Host]) -> None:
    query = {"gpu_count": "1", "gpu_model": "t4", "price_max": "", "vram_gb_min": "", "simulated": "", "sort": "price"}
    response = client.get("/market", query, headers={"HX-Request": "true"})
    assert response["HX-Push-Url"] == "/market?gpu_model=t4"
    assert "HX-Request" in response["Vary"]
    assert "<html" not in response.content.decode()
    assert client.get("/market", {"gpu_count": "1"}, headers={"HX-Request": "true"})["HX-Push-Url"] == "/market"


def test_sorting_by_vram(client: Client, several: dict[str, Host]) -> None:
    text = _market(client, sort="-vram")
    assert text.index(">big<") < text.index(">sim<")


def test_nothing_left_names_each_filter_to_drop(client: Client, several: dict[str, Host]) -> None:
    text = _market(client, gpu_model="t4", gpu_count=8, price_max="0.01")
    assert "No free offer matches all of this" in text
    assert "/market?gpu_count=8&amp;price_max=0.01" in text
    assert "/market?gpu_model=t4&amp;price_max=0.01" in text


@pytest.mark.parametrize(
    "query", [{"price_max": "cheap"}, {"gpu_count": "many"}, {"sort": "luck"}, {"vram_gb_min": "x"}, {"simulated": "?"}]
)
def test_senseless_filters_are_left_out(client: Client, several: dict[str, Host], query: dict[str, str]) -> None:
    response = client.get("/market", query)
    assert response.status_code == 200
    assert ">big<" in response.content.decode()


def test_wrong_price_says_so_at_its_field(client: Client, several: dict[str, Host]) -> None:
    assert "Write a price such as 1.50." in _market(client, price_max="cheap")
    assert "A price is not negative." in _market(client, price_max="-1")


def test_broken_cursor_is_an_error_in_words(client: Client, several: dict[str, Host]) -> None:
    response = client.get("/market", {"cursor": "broken"})
    assert response.status_code == 400


def test_offer_page(client: Client, host: Host) -> None:
    text = client.get(f"/offers/{_offr(offer_of(host))}").content.decode()
    assert "RTX 4090" in text
    assert "2 of 2 GPUs free" in text
    assert f"/offers/{_offr(offer_of(host))}/rent?gpu_count=2" in text


def test_closed_offer_page_leads_elsewhere(client: Client, host: Host, hana: User) -> None:
    set_listed(actor_id=hana.pk, offer_id=offer_of(host).pk, listed=False)
    text = client.get(f"/offers/{_offr(offer_of(host))}").content.decode()
    assert "No GPU free right now" in text
    assert "/rent" not in text


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["offr_" + "0" * 32, "host_" + "0" * 32, "nonsense"])
def test_unknown_offer_is_404(client: Client, key: str) -> None:
    assert client.get(f"/offers/{key}").status_code == 404


# -- the host owner's corner


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/hosts", "/hosts/enrol", "/hosts/become-owner", "/offers/offr_x/price"])
def test_strangers_are_sent_to_sign_in(client: Client, path: str) -> None:
    response = client.get(path) if path == "/hosts" else client.post(path)
    assert response["Location"].startswith("/accounts/login/")


def test_renter_becomes_a_host_owner(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert "Earn with your GPUs" in client.get("/hosts").content.decode()
    assert "No host yet" in client.post("/hosts/become-owner", follow=True).content.decode()


def test_own_hosts_only(client: Client, host: Host, bob: User, hana: User) -> None:
    client.force_login(hana)
    assert ">rig<" in client.get("/hosts").content.decode()
    client.force_login(bob)
    assert ">rig<" not in client.get("/hosts").content.decode()


def test_enrolment_shows_the_one_command(client: Client, hana: User) -> None:
    client.force_login(hana)
    form = {"host_name": "lab", "region": "eu", "price_micros": "0.50"}
    response = client.post("/hosts/enrol", form, headers={"HX-Request": "true"})
    secret = response.context["secret"]
    assert f"berth-agent enrol --url http://testserver --token {secret}" in response.content.decode()
    assert JoinToken.objects.get(owner=hana).price_micros == 500_000


def test_enrolment_form_says_what_is_missing(client: Client, hana: User) -> None:
    client.force_login(hana)
    text = client.post("/hosts/enrol", {"host_name": ""}, headers={"HX-Request": "true"}).content.decode()
    assert "This field is required" in text
    assert not JoinToken.objects.exists()


def test_renter_cannot_enrol(client: Client, alice: User) -> None:
    client.force_login(alice)
    form = {"host_name": "lab", "region": "eu", "price_micros": "0.50"}
    assert client.post("/hosts/enrol", form, headers={"HX-Request": "true"}).status_code == 403
    assert not JoinToken.objects.exists()


def test_owner_sets_price_listing_and_draining(client: Client, host: Host, hana: User) -> None:
    client.force_login(hana)
    key = _offr(offer_of(host))
    client.post(f"/offers/{key}/price", {"price_micros": "1.25"})
    assert offer_of(host).price_micros == 1_250_000
    client.post(f"/offers/{key}/listing", {"listed": "no"})
    assert not offer_of(host).listed
    client.post(f"/offers/{key}/listing", {"listed": "yes"})
    assert offer_of(host).listed
    client.post(f"/hosts/{public_id('host', host.pk)}/draining", {"draining": "yes"})
    host.refresh_from_db()
    assert host.draining


def test_wrong_price_is_told(client: Client, host: Host, hana: User) -> None:
    client.force_login(hana)
    response = client.post(f"/offers/{_offr(offer_of(host))}/price", {"price_micros": "much"}, follow=True)
    assert "Write a price such as 1.50." in response.content.decode()


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_others_cannot_touch_a_host(
    client: Client, host: Host, who: str, request: pytest.FixtureRequest, hana: User
) -> None:
    client.force_login(request.getfixturevalue(who))
    before, key = offer_of(host).price_micros, _offr(offer_of(host))
    assert client.post(f"/offers/{key}/price", {"price_micros": "0.01"}).status_code == 404
    assert client.post(f"/offers/{key}/listing", {"listed": "no"}).status_code == 404
    assert client.post(f"/hosts/{public_id('host', host.pk)}/draining", {"draining": "yes"}).status_code == 404
    assert (offer_of(host).price_micros, offer_of(host).listed) == (before, True)
