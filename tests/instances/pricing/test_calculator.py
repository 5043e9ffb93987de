"""The calculator's page: modes side by side, worked examples to the cent, addresses that can be shared."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from billing.pricing.estimates import MODES
from common.money import format_money
from instances.web.pricing.context import EXAMPLES, calculator_context, example_total
from marketplace.hosts.offers import ListingChange, set_listed, set_prices
from tests.instances.fake_host import FakeHost
from tests.web.test_templates import OURS

TOTALS = ("26805.60", "12088.80", "11258.352", "2016.00", "2682.40", "480.70")
SHOWN = ("$26,805.60", "$12,088.80", "$11,258.35", "$2,016.00", "$2,682.40", "$480.70")
HTMX = {"HX-Request": "true"}

pytestmark = pytest.mark.django_db


def page(client: Client, query: str = "", **headers: str) -> str:
    reply = client.get(f"/calculator{query}", headers=headers)
    assert reply.status_code == 200
    return reply.content.decode()


def rows(client: Client, query: str) -> dict[str, tuple[str, str]]:
    """Mode → (total, per GPU-hour), as the table shows them."""
    context = client.get(f"/calculator{query}").context
    return {row.mode: (format_money(row.found.total_micros), format_money(row.unit_micros)) for row in context["rows"]}


def test_worked_examples() -> None:
    assert tuple(format_money(example_total(query, mode)) for _words, query, mode in EXAMPLES) == TOTALS


def test_the_page_shows_them_and_each_link_fills_the_form(client: Client) -> None:
    text = page(client)
    assert all(total in text for total in SHOWN)
    links = re.findall(r'href="(/calculator\?[^"]+)"', text)
    assert len(links) == len(EXAMPLES)
    for link, (_words, query, mode), total in zip(links, EXAMPLES, TOTALS, strict=True):
        shown = client.get(link.replace("&amp;", "&"))
        assert {name: shown.context["form"].data[name] for name in query} == query
        assert total in {format_money(row.found.total_micros) for row in shown.context["rows"] if row.mode == mode}


def test_a_first_visit_shows_all_modes_and_where_they_cross(client: Client) -> None:
    found = client.get("/calculator").context
    assert [row.mode for row in found["rows"]] == list(MODES)
    assert {row.mode: row.cheaper_from for row in found["rows"]}["reserved"] == "576"
    assert [row.mode for row in found["rows"] if row.is_cheapest] == ["spot"]
    assert len(found["chart"].lines) == len(MODES)
    text = page(client)
    assert '<svg class="chart" role="img"' in text
    assert "Beyond 576 hours of use, Reserved costs less than On-demand." in text


def test_a_mode_without_a_price_is_left_out(client: Client) -> None:
    assert rows(client, "?unit_price=2&hours=10") == {"hourly": ("20.00", "2.00")}
    assert "No price entered: Reserved, Tiered, Spot." in page(client, "?unit_price=2&hours=10")


def test_an_offers_prices(client: Client, host: FakeHost) -> None:
    change = ListingChange(
        host.offer.pk, reserved_discounts={"month": 2_500}, spot_floor_micros=1_200_000, disk_micros_gb_day=10_000
    )
    set_prices(actor_id=host.owner.pk, change=change)
    key = f"offr_{host.offer.pk.hex}"
    found = rows(client, f"?offer={key}&hours=240&gpu_count=2&data_disk_gb=150&term=month")
    assert found == {
        "hourly": ("1738.00", "3.60"),  # 480 × 3.60 + 100 GB × 10 days × 0.01
        "reserved": ("3898.00", "2.70"),
        "tiered": ("1738.00", "3.60"),
        "spot": ("586.00", "1.20"),
    }
    assert "RTX 4090 · eu · " in page(client)
    year = page(client, f"?offer={key}&hours=240&gpu_count=2&term=year")
    assert "Not available on this offer: Reserved." in year
    assert "View RTX 4090 on " in year
    set_listed(actor_id=host.owner.pk, offer_id=host.offer.pk, listed=False)
    assert f'value="{key}" selected' in page(client, f"?offer={key}")


def test_a_part_stands_under_an_address_that_leads_to_the_same(client: Client) -> None:
    query = "?offer=&unit_price=2.80&discount=&tiers=720%3A15&spot_price=&hours=1000&gpu_count=1&term=month&payment=upfront"
    reply = client.get(f"/calculator{query}&storage_total=&peak_factor=1", headers=HTMX)
    text = reply.content.decode()
    assert "<html" not in text
    assert "$2,682.40" in text
    address = reply["HX-Replace-Url"]
    assert parse_qs(urlsplit(address).query) == {"unit_price": ["2.80"], "hours": ["1000"], "tiers": ["720:15"]}
    assert rows(client, address.removeprefix("/calculator"))["tiered"][0] == "2682.40"
    assert "HX-Request" in reply["Vary"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?hours=x&unit_price=1", "Hours of use"),
        ("?unit_price=dear", "Enter a price, such as 1.50."),
        ("?hours=5", "Enter a price, such as 1.50."),
        ("?unit_price=1&tiers=many", "Enter steps, such as"),
        ("?unit_price=1&tiers=9:1,9:2", "later than the previous one"),
        ("?unit_price=1&tiers=1e9:1", "Enter steps, such as"),
        ("?unit_price=1&discount=100", "Discount (%)"),
        ("?unit_price=1&gpu_count=0", "Number of GPUs"),
        ("?unit_price=1&term=decade", "Reserved term"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_reckoned(client: Client, query: str, words: str) -> None:
    text = page(client, query)
    assert words in text
    assert 'role="alert"' in text
    assert "side-by-side" not in text
    assert "HX-Replace-Url" not in client.get(f"/calculator{query}", headers=HTMX)


@pytest.mark.parametrize(
    "query", ["?unit_price=0&hours=0", "?unit_price=0&hours=5&discount=0&tiers=1:50", "?unit_price=1&hours=0"]
)
def test_nothing_at_all(client: Client, query: str) -> None:
    assert "side-by-side" in page(client, query)


def test_an_offer_that_is_none(client: Client) -> None:
    assert client.get("/calculator?offer=offr_" + "0" * 32).status_code == 404
    assert client.get("/calculator?offer=x").status_code == 404


def test_numbers_in_another_language_stay_plain(client: Client) -> None:
    with translation.override("zh-hans"):
        text = client.get("/calculator", headers={"accept-language": "zh-hans"}).content.decode()
    points = re.findall(r'points="([^"]+)"', text)
    assert points
    assert all(re.fullmatch(r"(?:[\d.]+,[\d.]+ ?)+", each) for each in points)


def test_templates_are_under_the_laws() -> None:
    assert {"instances/calculator.html", "instances/_calculator.html", "marketplace/_price_history.html"} <= set(OURS)


def test_reckoning_needs_few_queries(host: FakeHost) -> None:
    calculator_context(QueryDict("unit_price=1&hours=5"))  # the market's copy in memory is read once
    with CaptureQueriesContext(connection) as queries:
        calculator_context(QueryDict("unit_price=1&hours=5"))
    assert len(queries) <= 4
