"""Eight workers invoice two dozen renters: numbers without a gap or a double; and what the lock is for."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError
from django.db.models import QuerySet

from accounts.models import User
from billing.invoices.invoices import issue_invoice, issue_invoices
from billing.models import Invoice, InvoiceSeries
from tests.billing.coupon_money import BEGIN, UNIT, Run
from tests.billing.money import grant, in_parallel, make_user
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

WORKERS = 8
RENTERS = 24
OCTOBER, NOVEMBER = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
AFTER = NOVEMBER + timedelta(hours=6)


@pytest.fixture
def renters(hana: User) -> list[User]:
    with time_machine.travel(BEGIN, tick=False):
        people = [make_user(f"renter{number}") for number in range(RENTERS)]
        for person in people:
            grant(person, 5 * UNIT)
            Run(person, hana).start().stop_at(BEGIN + timedelta(minutes=10))
    return people


def numbers() -> list[int]:
    return sorted(Invoice.objects.values_list("number", flat=True))


def test_eight_sweeps_at_once_leave_no_gap(renters: list[User]) -> None:
    with time_machine.travel(AFTER, tick=True):
        outcomes = in_parallel([lambda: issue_invoices(now=AFTER)] * WORKERS)
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    assert sum(int(str(outcome)) for outcome in outcomes) == RENTERS
    assert numbers() == list(range(1, RENTERS + 1))
    assert InvoiceSeries.objects.get(year=2026).last_number == RENTERS


def test_one_renter_gets_one_invoice_of_eight_workers(renters: list[User]) -> None:
    with time_machine.travel(AFTER, tick=True):
        works: list[Callable[[], object]] = [
            lambda: issue_invoice(owner_id=renters[0].pk, begin=OCTOBER, end=NOVEMBER)
        ] * WORKERS
        outcomes = in_parallel(works)
    assert sum(isinstance(outcome, Invoice) for outcome in outcomes) == 1
    assert sum(outcome is None for outcome in outcomes) == WORKERS - 1
    assert numbers() == [1]


def test_a_refused_invoice_gives_its_number_back(renters: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    """The database refuses the second of three: the third has its number."""
    with time_machine.travel(AFTER, tick=True):
        issue_invoice(owner_id=renters[0].pk, begin=OCTOBER, end=NOVEMBER)
        with monkeypatch.context() as broken:
            broken.setattr("billing.invoices.invoices.seller", lambda: None)
            with pytest.raises(IntegrityError):
                issue_invoice(owner_id=renters[1].pk, begin=OCTOBER, end=NOVEMBER)
        issue_invoice(owner_id=renters[2].pk, begin=OCTOBER, end=NOVEMBER)
    assert numbers() == [1, 2]


def test_without_the_lock_the_constraint_refuses_doubles(renters: list[User], monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: who does not wait for the counter's row is refused by the table, yet no number is missing."""
    InvoiceSeries.objects.create(year=2026)
    everybody = Barrier(WORKERS)

    def unlocked(rows: QuerySet[Any], **options: object) -> QuerySet[Any]:
        if rows.model is InvoiceSeries:
            everybody.wait(timeout=30)
        return rows

    take_locks_down(monkeypatch, unlocked)
    with time_machine.travel(AFTER, tick=True):
        works: list[Callable[[], object]] = [
            lambda: issue_invoice(owner_id=renters[0].pk, begin=OCTOBER, end=NOVEMBER)
        ] * WORKERS
        outcomes = in_parallel(works)
    assert any(isinstance(outcome, IntegrityError) for outcome in outcomes)
    assert numbers() == [1]
    assert InvoiceSeries.objects.get(year=2026).last_number == 1
