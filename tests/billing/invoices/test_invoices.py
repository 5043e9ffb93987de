"""Invoices by hand: what is on them, numbers without a gap, and corrections that leave them as they are."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import IntegrityError, transaction

from accounts.models import User
from billing.errors import AlreadyCorrected, LedgerIsAppendOnly
from billing.invoices.invoices import correct_invoice, issue_invoice, issue_invoices, set_address, skip_invoice_numbers
from billing.invoices.lines import lines_from_json, number_of_seconds, tax_within
from billing.metering.escrow import prepay, return_unused
from billing.metering.hold_extension import extend_holds
from billing.metering.host_fault_credits import credit_source
from billing.models import Invoice, InvoiceSeries
from billing.pricing.tariffs import Scope
from common.db.transactions import use_case
from common.errors import InvalidInput, NotFound
from tests.billing.coupon_money import BEGIN, UNIT, Run, assert_whole, at, redeem
from tests.billing.money import grant
from tests.roles import as_owner

pytestmark = pytest.mark.django_db

OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
SIX = timedelta(hours=6)


@pytest.fixture(autouse=True)
def morning() -> Iterator[Any]:
    with time_machine.travel(BEGIN, tick=False) as clock:
        yield clock


def issue(now: datetime = NOVEMBER + SIX) -> list[Invoice]:
    with time_machine.travel(now, tick=False):
        issue_invoices(now=now)
    return list(Invoice.objects.order_by("year", "number"))


def used(alice: User, hana: User, *, minutes: int = 90) -> Run:
    """3.60 an hour for so many minutes; the hold is renewed on the way."""
    run = Run(alice, hana).start()
    if minutes > 60:
        run.prove(at(minutes=59))
        extend_holds(now=at(minutes=59))
    run.stop_at(at(minutes=minutes))
    return run


@pytest.mark.parametrize(
    ("total", "bps", "tax"),
    [
        (119 * UNIT, 1_900, 19 * UNIT),  # 19 % on 100.00
        (100 * UNIT, 1_900, 15_966_387),  # 100 ÷ 1.19 = 84.033613…
        (5_400_000, 0, 0),
        (-119 * UNIT, 1_900, -19 * UNIT),
        (1, 10_000, 1),  # half of a millionth, rounded up
    ],
)
def test_the_tax_within_a_price(total: int, bps: int, tax: int) -> None:
    assert tax_within(total, bps) == tax


def test_seconds_are_exact() -> None:
    assert [number_of_seconds(us) for us in (5_400_000_000, 1_500_000, 1, 0)] == ["5400", "1.5", "0.000001", "0"]


def test_a_month_with_a_coupon_by_hand(alice: User, hana: User, settings: Any) -> None:
    """90 min at 3.60 an hour: 5,400 s × 3.60 ÷ 3,600 = 5.40, of which 2.00 by coupon; 19 % within: 0.862185."""
    settings.MARKET_TAX_BPS = 1_900
    settings.MARKET_SELLER = {"name": "Berth Ltd", "address": "1 Quay Street; Dublin", "tax_id": "IE1"}
    grant(alice, 50 * UNIT)
    redeem(alice, 2)
    run = used(alice, hana)
    set_address(owner_id=alice.pk, name="Example AG", address="Weg 1\r\nBerlin", country="de", tax_id="DE9")
    (invoice,) = issue()
    assert (invoice.full_number, invoice.owner) == ("INV-2026-000001", alice)
    assert (invoice.period_from, invoice.period_to) == (OCTOBER, NOVEMBER)
    assert (invoice.total_micros, invoice.coupon_micros, invoice.cash_micros) == (5_400_000, 2 * UNIT, 3_400_000)
    assert (invoice.tax_bps, invoice.tax_micros) == (1_900, 862_185)  # 5.40 × 19 ÷ 119 = 0.8621848…
    assert invoice.buyer == {
        "name": "Example AG",
        "address": "Weg 1\nBerlin",
        "country": "DE",
        "tax_id": "DE9",
        "email": alice.email,
    }
    assert invoice.seller == {"name": "Berth Ltd", "address": "1 Quay Street\nDublin", "tax_id": "IE1"}
    (line,) = lines_from_json(invoice.lines)
    assert (line.what, line.mode, line.source_id) == ("1 × RTX 4090", "hourly", run.key.hex)
    assert (line.microseconds, line.rate_micros, line.rate_hours) == (5_400 * UNIT, 3_600_000, 1)
    assert line.microseconds * (line.rate_micros or 0) // (3600 * UNIT) == line.amount_micros == 5_400_000
    assert (line.since, line.until) == (BEGIN, at(minutes=90))
    assert_whole()


def test_once_for_each_month_and_renter(alice: User, bob: User, hana: User) -> None:
    for user in (alice, bob):
        grant(user, 50 * UNIT)
        used(user, hana, minutes=30)
    assert len(issue()) == 2
    assert len(issue(NOVEMBER + 2 * SIX)) == 2
    assert issue_invoice(owner_id=alice.pk, begin=OCTOBER, end=NOVEMBER) is None
    assert [invoice.number for invoice in issue()] == [1, 2]


def test_no_use_no_invoice_and_not_before_the_month_is_over(alice: User, hana: User) -> None:
    grant(alice, 50 * UNIT)
    assert issue() == []
    used(alice, hana, minutes=30)
    assert issue(NOVEMBER + timedelta(hours=2)) == []
    assert len(issue()) == 1


def test_what_was_posted_in_a_month_is_on_its_invoice(alice: User, hana: User, morning: Any) -> None:
    """An hour over the month's end: posted in November, so it is November's, and nothing is lost or doubled."""
    grant(alice, 50 * UNIT)
    begin = NOVEMBER - timedelta(minutes=30)
    morning.move_to(begin)
    run = Run(alice, hana).start(begin)
    run.stop_at(begin + timedelta(hours=1))
    assert issue() == []
    (invoice,) = issue(datetime(2026, 12, 1, 6, tzinfo=UTC))
    assert (invoice.period_from, invoice.total_micros) == (NOVEMBER, 3_600_000)


def test_months_that_the_sweep_slept_through_are_made_up(alice: User, hana: User) -> None:
    grant(alice, 50 * UNIT)
    used(alice, hana, minutes=30)
    (invoice,) = issue(datetime(2027, 1, 2, tzinfo=UTC))
    assert (invoice.period_from, invoice.full_number) == (OCTOBER, "INV-2027-000001")


def test_prepaid_terms_and_what_comes_back(alice: User, hana: User) -> None:
    """30.00 are paid in advance, 12.00 of it by coupon; 20.00 come back: 10.00 on the invoice, all of it coupon money."""
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 12)
    term = uuid4()
    with use_case():
        prepay(
            renter_id=alice.pk, term_id=term, amount_micros=30 * UNIT, memo="1 × T4, 1 week", scope=Scope("reserved", "t4")
        )
    with use_case():
        return_unused(renter_id=alice.pk, term_id=term, amount_micros=20 * UNIT, memo="1 × T4: not used")
    (invoice,) = issue()
    assert [(line.kind, line.amount_micros, line.rate_micros) for line in lines_from_json(invoice.lines)] == [
        ("prepaid", 30 * UNIT, None),
        ("prepaid", -20 * UNIT, None),
    ]
    assert (invoice.total_micros, invoice.coupon_micros) == (10 * UNIT, 10 * UNIT)
    coupon.refresh_from_db()
    assert coupon.remaining_micros == 2 * UNIT
    assert_whole()


def test_what_a_host_failed_is_taken_off_in_the_month_in_which_it_was_given_back(
    alice: User, hana: User, morning: Any
) -> None:
    grant(alice, 50 * UNIT)
    redeem(alice, 1)
    run = used(alice, hana, minutes=30)
    (october,) = issue()
    assert (october.total_micros, october.coupon_micros) == (1_800_000, UNIT)
    morning.move_to(NOVEMBER + SIX)
    with use_case():
        credit_source(
            source_kind="instance", source_id=run.key, key="k", since=BEGIN, until=at(hours=2), reason="lost", actor="test"
        )
    november = issue(datetime(2026, 12, 1, 6, tzinfo=UTC))[-1]
    assert (november.total_micros, november.coupon_micros) == (-1_800_000, -UNIT)
    (line,) = lines_from_json(november.lines)
    assert (line.kind, line.rate_micros, line.microseconds) == ("refund", 3_600_000, 1_800 * UNIT)
    assert_whole()


def test_coupon_parts_of_months_add_up_to_what_was_used(alice: User, hana: User, morning: Any) -> None:
    """A hold that lasts over the month's end: drawn in October, consumed in November."""
    grant(alice, 50 * UNIT)
    coupon = redeem(alice, 10)
    used(alice, hana, minutes=30)
    begin = NOVEMBER - timedelta(minutes=10)
    morning.move_to(begin)
    run = Run(alice, hana).start(begin)
    run.stop_at(begin + timedelta(minutes=40))
    issue()
    issue(datetime(2026, 12, 1, 6, tzinfo=UTC))
    parts = [invoice.coupon_micros for invoice in Invoice.objects.order_by("period_from")]
    coupon.refresh_from_db()
    assert sum(parts) == coupon.granted_micros - coupon.remaining_micros == 1_800_000 + 2_400_000


def test_an_invoice_is_never_changed(alice: User, hana: User) -> None:
    grant(alice, 50 * UNIT)
    used(alice, hana, minutes=30)
    (invoice,) = issue()
    with pytest.raises(LedgerIsAppendOnly):
        invoice.save()
    with as_owner(), pytest.raises(IntegrityError), transaction.atomic():
        Invoice.objects.update(total_micros=1)
    with as_owner(), pytest.raises(IntegrityError), transaction.atomic():
        Invoice.objects.all().delete()


def test_a_correction_is_a_credit_note_and_another_invoice(alice: User, hana: User, settings: Any) -> None:
    settings.MARKET_TAX_BPS = 1_900
    grant(alice, 50 * UNIT)
    used(alice, hana, minutes=30)
    (wrong,) = issue()
    set_address(owner_id=alice.pk, name="Right Name", address="", country="", tax_id="")
    note, anew = correct_invoice(invoice_id=wrong.pk, reason=" wrong name ", actor="staff:x", reissue=True)
    assert (note.full_number, anew.full_number) == ("CN-2026-000002", "INV-2026-000003")
    assert (note.corrects, anew.corrects, note.reason) == (wrong, wrong, "wrong name")
    assert (note.total_micros, note.tax_micros, note.tax_bps) == (-wrong.total_micros, -wrong.tax_micros, 1_900)
    assert (note.buyer["name"], anew.buyer["name"]) == ("Alice", "Right Name")
    assert sum(paper.total_micros for paper in (wrong, note, anew)) == wrong.total_micros
    with pytest.raises(AlreadyCorrected):
        correct_invoice(invoice_id=wrong.pk, reason="again", actor="staff:x", reissue=False)
    (last,) = correct_invoice(invoice_id=anew.pk, reason="all wrong", actor="staff:x", reissue=False)
    assert last.full_number == "CN-2026-000004"
    with pytest.raises(NotFound):
        correct_invoice(invoice_id=note.pk, reason="a note", actor="staff:x", reissue=False)
    with pytest.raises(InvalidInput):
        correct_invoice(invoice_id=anew.pk, reason=" ", actor="staff:x", reissue=False)
    assert InvoiceSeries.objects.get(year=2026).last_number == 4
    assert len(issue()) == 4


def test_after_a_restore_no_number_is_given_out_that_somebody_may_have(alice: User, hana: User) -> None:
    grant(alice, 50 * UNIT)
    used(alice, hana)
    InvoiceSeries.objects.create(year=2026, last_number=41)  # as the backup has it; 42 was issued after it
    with time_machine.travel(NOVEMBER + SIX, tick=False):
        skip_invoice_numbers()
        (invoice,) = issue()
        assert invoice.full_number == "INV-2026-1000001"
        skip_invoice_numbers()
    assert InvoiceSeries.objects.get(year=2026).last_number == 2_000_000
    with time_machine.travel(datetime(2027, 1, 2, tzinfo=UTC), tick=False):
        skip_invoice_numbers()  # of a year in which the backup knows no invoice
    assert InvoiceSeries.objects.get(year=2027).last_number == 1_000_000
