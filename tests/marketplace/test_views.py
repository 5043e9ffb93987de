"""Home, market, offer and host pages, walked by strangers, renters and host owners."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common import clock
from common.ids import public_id
from marketplace.hosts.offers import set_listed
from marketplace.models import Host, JoinToken, Offer, SavedSearch
from storage.models import Image
from tests.marketplace.shapes import enrolled, gpu, offer_of
from tests.web.world_crowd import crowd


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
    assert "No GPUs available right now" in client.get("/").content.decode()
    assert "All GPUs are rented right now" in _market(client)


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
    assert "· cheap<" not in text


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ({"region": "us"}, "cheap", "big"),
        ({"gpu_model": "t4"}, "sim", "big"),
        ({"gpu_model": ["t4", "rtx-4090"], "region": ["us"]}, "cheap", "sim"),
        ({"price_max": "0.2"}, "cheap", "big"),
        ({"simulated": "true"}, "sim", "cheap"),
        ({"simulated": "false"}, "big", "sim"),
        ({"vram_gb_min": "24"}, "big", "sim"),
        ({"q": "4090 region=us"}, "cheap", "big"),
        ({"total__lte": "0.2"}, "cheap", "big"),
    ],
)
def test_filters(
    client: Client, several: dict[str, Host], query: dict[str, str | list[str]], there: str, not_there: str
) -> None:
    text = client.get("/market", query, headers={"HX-Request": "true"}).content.decode()
    assert f"· {there}<" in text
    assert f"· {not_there}<" not in text


def test_part_pushes_an_address_that_can_be_shared(client: Client, several: dict[str, Host]) -> None:
    query = {"gpu_count": "1", "gpu_model": "t4", "price_max": "", "vram_gb_min": "", "simulated": "", "sort": "price"}
    response = client.get("/market", query, headers={"HX-Request": "true"})
    assert response["HX-Push-Url"] == "/market?gpu_model=t4"
    assert "HX-Request" in response["Vary"]
    assert "<html" not in response.content.decode()
    assert client.get("/market", {"gpu_count": "1"}, headers={"HX-Request": "true"})["HX-Push-Url"] == "/market"


def test_line_becomes_parameters_and_stays_a_line(client: Client, several: dict[str, Host]) -> None:
    line = {"q": "4090 count>=2 fp16>100 region in [eu,us]"}
    response = client.get("/market", line, headers={"HX-Request": "true"})
    assert response["HX-Push-Url"] == "/market?gpu_count=2&gpu_model=rtx-4090&fp16__gt=100&region=eu&region=us"
    text = response.content.decode()
    assert 'value="count=2 gpu=rtx-4090 fp16&gt;100 region in [eu,us]"' in text
    assert '<input type="hidden" name="fp16__gt" value="100">' in text


def test_sorting_by_vram(client: Client, several: dict[str, Host]) -> None:
    text = _market(client, sort="-vram")
    assert text.index("· big<") < text.index("· sim<")


def test_disk_is_in_every_price(client: Client, several: dict[str, Host]) -> None:
    Offer.objects.filter(host=several["cheap"]).update(disk_micros_gb_day=24_000)
    text = _market(client, data_disk_gb=150, region="us")
    assert "$0.20" in text
    assert "with 150 GB disk" in text
    assert "gpu_count=1&amp;billing_mode=hourly&amp;data_disk_gb=150" in text


def test_modes_that_are_not_sold_hide_the_offer(client: Client, several: dict[str, Host]) -> None:
    Offer.objects.filter(host=several["big"]).update(reserved_discounts={"week": 2_500})
    text = _market(client, billing_mode="reserved", term="week")
    assert "$0.30" in text
    assert "· cheap<" not in text
    assert "billing_mode=reserved&amp;term=week" in text


def test_image_hides_what_cannot_run_it_and_says_how_many(client: Client, several: dict[str, Host]) -> None:
    Image.objects.create(slug="newest", title="Newest CUDA", reference="berth/newest:1", cuda="12.4")
    Offer.objects.filter(host=several["big"]).update(cuda="12.6")
    Offer.objects.filter(host=several["cheap"]).update(cuda="12.2")
    Offer.objects.filter(host=several["sim"]).update(cuda="")
    text = _market(client, image="newest")
    assert "· big<" in text
    assert "2 offers hidden: the hosts can't run this image" in text
    assert "Newest CUDA · CUDA 12.4" in text
    assert "· cheap<" not in text


def test_every_choice_has_its_count(client: Client, several: dict[str, Host]) -> None:
    context = client.get("/market", {"region": "eu"}).context
    fields = {each.name: each for section in context["panel"].sections for each in section.fields}
    assert [(each.value, each.count, each.chosen) for each in fields["region"].choices] == [
        ("eu", 2, True),
        ("us", 1, False),
    ]
    assert [(each.value, each.count) for each in fields["vram_gb_min"].choices] == [("16", 2), ("24", 1)]
    assert all(each.count is not None for each in fields["disk_read_min"].choices)
    assert context["panel"].in_use == 1


def test_chips_say_what_each_filter_hides(client: Client, several: dict[str, Host]) -> None:
    chips = client.get("/market", {"region": "eu", "gpu_count": "2"}).context["chips"]
    assert [(chip.label, chip.query, chip.hides) for chip in chips] == [
        ("2 or more GPUs", "region=eu", 1),
        ("Region: eu", "gpu_count=2", 0),
    ]


def test_nothing_left_names_each_filter_that_leaves_something_without_it(client: Client, several: dict[str, Host]) -> None:
    text = _market(client, gpu_model="rtx-4090", gpu_count=4, price_max="0.01")
    assert "No available offers match your filters" in text
    assert "1 offer without it" in text
    assert "/market?gpu_count=4&amp;gpu_model=rtx-4090" in text
    assert "at least two of them exclude" in _market(client, gpu_model="t4", gpu_count=8, price_max="0.01")


@pytest.mark.parametrize(
    "query",
    [
        {"price_max": "cheap"},
        {"gpu_count": "many"},
        {"sort": "luck"},
        {"vram_gb_min": "x"},
        {"simulated": "?"},
        {"foo": "1"},
    ],
)
def test_senseless_filters_are_refused_in_words(client: Client, several: dict[str, Host], query: dict[str, str]) -> None:
    response = client.get("/market", query)
    assert response.status_code == 400
    text = response.content.decode()
    assert f"<code>{next(iter(query))}</code>" in text
    assert "· big<" not in text


def test_wrong_line_is_marked_at_its_place(client: Client, several: dict[str, Host]) -> None:
    response = client.get("/market", {"q": "gpu=4090 vrm>24 price<1"})
    text = response.content.decode()
    assert response.status_code == 400
    assert "gpu=4090 <mark>vrm&gt;24</mark> price&lt;1" in text
    assert "At character 10:" in text
    assert "Did you mean vram?" in text


def test_wrong_line_leaves_the_rows_alone(client: Client, several: dict[str, Host]) -> None:
    response = client.get("/market", {"q": "gpu="}, headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Retarget"]) == (200, "#line-fault")
    assert "HX-Push-Url" not in response
    assert "<mark>␣</mark>" in response.content.decode()


def test_broken_cursor_is_an_error_in_words(client: Client, several: dict[str, Host]) -> None:
    assert client.get("/market", {"cursor": "broken"}).status_code == 400


def test_pages_follow_each_other(client: Client, hana: User) -> None:
    crowd(hana, 120)
    first = client.get("/market", {"sort": "-vram"})
    second = client.get(f"/market?{first.context['next_query']}")
    seen = [row.id for page in (first, second) for row in page.context["rows"]]
    assert len(set(seen)) == 100
    back = client.get(f"/market?{second.context['previous_query']}")
    assert [row.id for row in back.context["rows"]] == seen[:50]


def test_a_page_costs_the_same_few_questions_however_many_offers(client: Client, hana: User) -> None:
    query_params = []
    for more in (60, 200):
        crowd(hana, more)
        client.get("/market")
        with CaptureQueriesContext(connection) as questions:
            assert len(client.get("/market").context["rows"]) == 50
        query_params.append(len(questions))
    assert query_params[0] == query_params[1] <= 4


# -- comparison


def _compare(client: Client, *hosts: Host) -> str:
    ids = ",".join(_offr(offer_of(host)) for host in hosts)
    return client.get("/compare", {"ids": ids}).content.decode()


def test_compare_shows_what_differs_and_what_is_best(client: Client, several: dict[str, Host]) -> None:
    context = client.get(
        "/compare", {"ids": f"{_offr(offer_of(several['big']))},{_offr(offer_of(several['cheap']))}"}
    ).context
    assert "unlimited on this host" in client.get("/compare", {"ids": _offr(offer_of(several["big"]))}).content.decode()
    hourly = context["prices"][0]
    assert [cell.value for cell in hourly.cells] == [400_000, 100_000]
    assert [cell.is_best for cell in hourly.cells] == [False, True]
    lines = {str(line.label): line for line in context["lines"]}
    assert lines["Region"].differs
    assert not lines["VRAM per GPU"].differs and not lines["Reliability"].differs


def test_compare_leads_to_the_rent_of_what_can_be_had(client: Client, several: dict[str, Host]) -> None:
    big, cheap = (_offr(offer_of(several[name])) for name in ("big", "cheap"))
    query_params = {"ids": f"{big},{cheap}", "gpu_count": "2"}
    page = client.get("/compare", query_params).content.decode()
    assert f'href="/offers/{big}/rent?gpu_count=2' in page
    assert client.get(f"/offers/{big}/rent?gpu_count=2").status_code in (200, 302)
    assert f'href="/offers/{cheap}/rent' not in page  # it has one GPU
    assert page.count("not available") == 1
    Offer.objects.filter(host=several["big"]).update(gpu_free=0, gpu_spot=2)
    assert f'href="/offers/{big}/rent' in client.get("/compare", query_params).content.decode()  # spot rents yield to it
    Offer.objects.filter(host=several["big"]).update(gpu_spot=0)
    assert client.get("/compare", query_params).content.decode().count("not available") == 2


@pytest.mark.parametrize(
    ("room", "data_disk_gb", "rents"),
    [
        ({"disk_free_gb": 40}, "40", True),
        ({"disk_free_gb": 40}, "50", False),
        ({"disk_free_gb": 0, "system_disk_gb": 30}, "", False),
        ({"disk_free_gb": 0, "system_disk_gb": 0}, "", True),
    ],
)
def test_a_host_without_room_is_nowhere_offered_for_rent(
    client: Client, several: dict[str, Host], room: dict[str, int], data_disk_gb: str, rents: bool
) -> None:
    Offer.objects.filter(host=several["big"]).update(spot_floor_micros=50_000, **room)
    key, wish = _offr(offer_of(several["big"])), {"data_disk_gb": data_disk_gb}
    assert ("· big<" in _market(client, **wish)) is rents
    compared = client.get("/compare", {"ids": key, **wish}).content.decode()
    page = client.get(f"/offers/{key}", wish).content.decode()
    for text in (compared, page):
        assert (f'href="/offers/{key}/rent' in text) is rents
    assert ("not enough disk space" in compared, "Not enough disk space" in page) == (not rents, not rents)


def test_compare_prices_follow_the_wishes(client: Client, several: dict[str, Host]) -> None:
    ids = _offr(offer_of(several["big"]))
    prices = client.get("/compare", {"ids": ids, "gpu_count": "4"}).context["prices"]
    assert [line.cells[0].value for line in prices] == [1_600_000, None, 1_600_000, None]


def test_nothing_to_compare_says_how(client: Client, several: dict[str, Host]) -> None:
    assert "No offers selected" in client.get("/compare").content.decode()
    assert client.get("/compare", {"ids": "nonsense"}).status_code == 400


def test_picks_are_kept_and_four_at_most(client: Client, hana: User) -> None:
    keys = [_offr(offer) for offer in crowd(hana, 5)]
    for key in keys[:4]:
        client.post("/compare/pick", {"offer": key})
    assert [offer.key for offer in client.get("/compare").context["offers"]] == keys[:4]
    full = client.post("/compare/pick", {"offer": keys[4]}, headers={"HX-Request": "true"}).content.decode()
    assert "You can compare up to four" in full
    client.post("/compare/pick", {"offer": keys[0]})
    assert [offer.key for offer in client.get("/compare").context["offers"]] == keys[1:4]
    dropped = client.post("/compare/drop", {"offer": keys[1], "ids": ",".join(keys[1:4])})
    assert dropped["Location"] == f"/compare?ids={keys[2]},{keys[3]}"
    assert [row.picked for row in client.get("/market").context["rows"]].count(True) == 2


def test_offers_that_are_gone_are_left_out(client: Client, several: dict[str, Host]) -> None:
    unknown = "offr_" + "0" * 32
    context = client.get("/compare", {"ids": f"{unknown},{_offr(offer_of(several['big']))}"}).context
    assert len(context["offers"]) == 1


# -- saved searches


def test_searches_are_saved_run_and_deleted(client: Client, several: dict[str, Host], alice: User) -> None:
    client.force_login(alice)
    saved = client.post("/saved-searches", {"name": "Small", "line": "4090 price<0.5"}, headers={"HX-Request": "true"})
    text = saved.content.decode()
    assert "/market?q=gpu%3Drtx-4090%20price%3C0.5" in text
    search = SavedSearch.objects.get(user=alice)
    assert "Small" in client.get("/saved-searches").content.decode()
    client.post(f"/saved-searches/{public_id('srch', search.pk)}/delete")
    assert not SavedSearch.objects.exists()


def test_saving_says_what_is_wrong(client: Client, alice: User) -> None:
    client.force_login(alice)
    again = {"name": "Small", "line": "4090"}
    client.post("/saved-searches", again)
    assert 'role="alert"' in client.post("/saved-searches", again).content.decode()
    assert 'role="alert"' in client.post("/saved-searches", {"name": "", "line": "4090"}).content.decode()


def test_saved_searches_of_others_are_out_of_reach(client: Client, alice: User, bob: User) -> None:
    search = SavedSearch.objects.create(user=alice, name="Mine", line="4090")
    client.force_login(bob)
    assert "Mine" not in client.get("/saved-searches").content.decode()
    assert client.post(f"/saved-searches/{public_id('srch', search.pk)}/delete").status_code == 404
    client.logout()
    assert client.get("/saved-searches")["Location"].startswith("/accounts/login/")


# -- one offer


def test_offer_page(client: Client, host: Host) -> None:
    text = client.get(f"/offers/{_offr(offer_of(host))}").content.decode()
    assert "RTX 4090" in text
    assert "2 of 2 GPUs free" in text
    assert f"/offers/{_offr(offer_of(host))}/rent?gpu_count=1&amp;billing_mode=hourly" in text


def test_offer_page_prices_every_mode(client: Client, host: Host) -> None:
    offers = Offer.objects.filter(host=host)
    offers.update(price_micros=1_000_000, spot_floor_micros=300_000, disk_micros_gb_day=24_000, tiers=[[720, 1_500]])
    offers.update(reserved_discounts={"month": 2_000, "day": 500})
    lines = client.get(f"/offers/{_offr(offer_of(host))}", {"gpu_count": 2, "data_disk_gb": 150}).context["lines"]
    assert [(line.mode, line.unit_micros, line.total_micros, line.whole_micros) for line in lines] == [
        ("hourly", 1_050_000, 2_100_000, None),
        ("tiered", 900_000, 1_800_000, None),
        ("reserved", 1_000_000, 2_000_000, 48_000_000),
        ("reserved", 850_000, 1_700_000, 1_224_000_000),
        ("spot", 350_000, 700_000, None),
    ]


def test_offer_page_tells_age_and_number_of_measurements(client: Client, host: Host) -> None:
    Host.objects.filter(pk=host.pk).update(disk_read_mbps=3_400, disk_samples=12, disk_measured_at=clock.now())
    text = client.get(f"/offers/{_offr(offer_of(host))}").content.decode()
    assert "3400 MB/s" in text
    assert "median of 12," in text
    assert "not measured" in text


def test_closed_offer_page_leads_elsewhere(client: Client, host: Host, hana: User) -> None:
    set_listed(actor_id=hana.pk, offer_id=offer_of(host).pk, listed=False)
    text = client.get(f"/offers/{_offr(offer_of(host))}").content.decode()
    assert "No GPUs available right now" in text
    assert "/rent?" not in text
    assert "/watches/new?q=gpu%3Drtx-4090" in text


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
    assert "No hosts yet" in client.post("/hosts/become-owner", follow=True).content.decode()


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
    assert "Enter a price, such as 1.50." in response.content.decode()


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
