"""A renter's month on paper: each line of the statement's page and of the PDF recomputed from what stands there."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from html.parser import HTMLParser
from math import floor

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from billing.coupons.codes import create_code, redeem_code
from billing.invoices.invoices import issue_invoices
from billing.invoices.pdf import invoice_pdf
from billing.metering.settle import settle_meters
from billing.models import Invoice
from common import clock
from instances.lifecycle.stop import stop_instance
from instances.release.services import release_instance
from instances.spot.market_tick import tick_all
from tests.billing.money import UNIT, grant
from tests.billing.pdf_text import text_of
from tests.instances.fake_host import FakeHost, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, balance, converted, pass_time, running, sell

MICRO = Fraction(1, 1_000_000)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def number(text: str) -> Fraction:
    """An amount as it is written: "−$1,234.50" or "+$3.60"."""
    digits = re.sub(r"[^\d.]", "", text)
    return -Fraction(digits) if text.strip().startswith(("−", "-")) else Fraction(digits)


@dataclass
class Row:
    """A row of the page: its cells' texts by the heading that each names."""

    cells: dict[str, str]

    @property
    def amount(self) -> int:
        return int(number(self.cells["Amount"]) / MICRO)

    @property
    def balance(self) -> int:
        return int(number(self.cells["Balance after"]) / MICRO)

    @property
    def seconds(self) -> Fraction | None:
        found = re.search(r"([\d.]+) s$", self.cells["Duration"])
        return Fraction(found[1]) if found else None

    @property
    def rate(self) -> tuple[Fraction, int] | None:
        """Money, and the hours that it is for."""
        found = re.fullmatch(r"\$([\d,.]+)/(hr|day)", self.cells["Rate"])
        return (Fraction(found[1].replace(",", "")), {"hr": 1, "day": 24}[found[2]]) if found else None


class Lines(HTMLParser):
    """The rows of the statement's table, and where the next page is."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.older = ""
        self._head = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "tr":
            self.rows.append(Row({}))
        elif tag == "td":
            self._head = attributes.get("data-head") or ""
        elif tag == "a" and attributes.get("rel") == "next":
            self.older = attributes.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._head = ""

    def handle_data(self, data: str) -> None:
        if self._head and data.strip():
            cells = self.rows[-1].cells
            cells[self._head] = f"{cells.get(self._head, '')} {data.strip()}".strip()


def statement(client: Client) -> list[Row]:
    """All pages, oldest line first."""
    rows: list[Row] = []
    address = "/wallet/statement"
    while address:
        page = Lines()
        page.feed(client.get(address).content.decode())
        rows += [row for row in page.rows if row.cells]
        address = f"/wallet/statement{page.older}" if page.older else ""
    return rows[::-1]


@pytest.fixture
def month(rin: User, bob: User, host: FakeHost, hours: Clock) -> User:
    """March: hourly with a coupon and a paid disk, converted to tiered; a prepaid day left early; spot; the host fails."""
    sell(host, spot_floor_micros=UNIT)
    grant(bob, 1000 * UNIT)
    code = create_code(code="SPRING", kind="fixed", actor="test", amount_micros=20 * UNIT, modes=["hourly"], total_limit=1)
    redeem_code(owner_id=rin.pk, code=code.code)

    first = running(rin, host, "hourly", gpu_count=2, data_disk_gb=100)
    pass_time(host, hours, 19_023)  # 5 h 17 min 3 s
    first = converted(rin, first, "tiered")
    pass_time(host, hours, 17_777)  # over both steps
    stop_instance(renter=rin, instance_id=first.pk)
    hours.advance(seconds=2)
    host.settle()
    hours.advance(days=3)  # no sweep held money for the disk meanwhile: nobody pays for that
    settle_meters(now=clock.now())
    release_instance(renter=rin, instance_id=first.pk)
    host.settle()

    second = running(rin, host, "reserved", term="day", payment="upfront")
    pass_time(host, hours, 6 * 3600 + 61)
    second = converted(rin, second, "hourly")  # early: priced anew, the rest comes back
    pass_time(host, hours, 1801)
    release_instance(renter=rin, instance_id=second.pk)
    host.settle()

    third = running(rin, host, "spot", max_price_micros=2 * UNIT)
    tick_all()
    host.settle()
    pass_time(host, hours, 5000)
    running(bob, host, "spot", gpu_count=4, max_price_micros=UNIT * 3 // 2)  # a losing bid: now it sets the price
    tick_all()
    pass_time(host, hours, 5000)
    release_instance(renter=rin, instance_id=third.pk)
    host.settle()

    fourth = running(rin, host, "hourly")
    pass_time(host, hours, 7900)
    host.end(reload(fourth), "gpu_lost")
    host.sync()
    settle_meters(now=clock.now())
    return rin


def test_every_line_of_the_page_can_be_recomputed(month: User, client: Client) -> None:
    client.force_login(month)
    rows = statement(client)
    kinds = {row.cells["What"].split(" · ")[0].rsplit(" ", 1)[-1] for row in rows}
    assert len(rows) > 20, kinds
    before = 0
    for row in rows:
        before += row.amount
        assert row.balance == before, row
        if row.rate is not None and row.seconds is not None:
            rate, hours = row.rate
            exact = rate / MICRO * row.seconds / (hours * 3600)
            assert abs(abs(row.amount) - exact) < 1, row  # rounded to a millionth at both ends
    assert before == balance(month)
    rated = [row for row in rows if row.rate is not None]
    assert {row.rate[1] for row in rated if row.rate} == {1, 24}  # GPUs by the hour, the disk by the day
    unrated = [row.cells["What"] for row in rows if row.rate is None]
    assert len(unrated) >= 4, unrated  # the grant, the coupon, the prepaid day, what came back of it
    assert_all_well()


def test_the_invoice_says_the_same(month: User, client: Client) -> None:
    with time_machine.travel(datetime(2025, 4, 1, 4, tzinfo=UTC), tick=False):
        settle_meters(now=clock.now())
        assert issue_invoices(now=clock.now()) >= 1
        client.force_login(month)
        used = statement(client)
    invoice = Invoice.objects.get(owner=month)
    text = text_of(invoice_pdf(invoice, "en"))
    words = [line for line in text.splitlines() if line.strip()]
    lines = [found for found in map(_paper_line, range(len(words)), [words] * len(words)) if found]
    assert len(lines) >= 8, text
    for seconds, rate, hours, amount in lines:
        exact = rate / MICRO * seconds / (hours * 3600)
        assert abs(abs(amount) - exact) <= 3, (seconds, rate, amount)  # a rounding for each run in it
    assert f"{invoice.total_micros // UNIT}" in text
    of_month = sum(-row.amount for row in used if _is_bill(row))
    assert invoice.total_micros == of_month


def _is_bill(row: Row) -> bool:
    """What is charged or given back, and no money put in or moved between one's own wallets."""
    words = row.cells["What"].lower()
    return not any(word in words for word in ("account credit", "coupon"))


def _paper_line(place: int, words: list[str]) -> tuple[Fraction, Fraction, int, int] | None:
    """Seconds, rate, its hours and the amount, where three cells of a row stand one after the other."""
    if place + 2 >= len(words):
        return None
    seconds, rate, amount = words[place : place + 3]
    found = re.fullmatch(r"([\d.,]+) / (\d*) ?h", rate)
    if not found or not re.fullmatch(r"[\d.]+", seconds) or not re.fullmatch(r"-?[\d.,]+", amount):
        return None
    money = int(Fraction(amount.replace(",", "")) / MICRO)
    return Fraction(seconds), Fraction(found[1].replace(",", "")), int(found[2] or 1), money
