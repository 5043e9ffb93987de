"""A host that fails after the billing mode was changed: the run's last hour comes back from each source that it was charged
to, and from each exactly what that was charged.
"""

import pytest

from accounts.models import User
from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.costs import costs_of
from billing.models import Entry, Posting
from common import clock
from instances.enforcement.fault_reports import decide_report, report_fault
from instances.models import FaultReport, Instance, Term
from tests.billing.money import UNIT
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, balance, converted, market, pass_time, running, sell

HOURLY, DAILY = 3_600_000, 3_420_000  # an hour of each
MINUTE = 60


@pytest.fixture
def seller(rin: User, host: FakeHost) -> FakeHost:
    sell(host)
    return host


def given_back() -> dict[str, int]:
    """By what it had been charged to: what renter and escrow got."""
    rows = Entry.objects.filter(posting__kind=Posting.Kind.CREDIT, kind=Entry.Kind.REFUND)
    found: dict[str, int] = {}
    for kind, amount in rows.values_list("posting__source_kind", "amount_micros"):
        found[kind] = found.get(kind, 0) + amount
    return found


def fail(host: FakeHost, instance: Instance) -> None:
    host.end(instance, "gpu_lost")
    host.sync()


def cost(kind: str, key: object) -> int:
    return costs_of(source_kind=kind, source_ids=[key], now=clock.now())[key].total_micros  # type: ignore[list-item, index]


@pytest.mark.parametrize(("before", "after", "hourly", "term"), [(30, 20, 30, 20), (90, 20, 40, 20), (30, 80, 0, 60)])
def test_hourly_then_a_prepaid_term(
    rin: User, seller: FakeHost, hours: Clock, *, before: int, after: int, hourly: int, term: int
) -> None:
    instance = running(rin, seller, "hourly")
    pass_time(seller, hours, before * MINUTE)
    instance = converted(rin, instance, "reserved", term="day")
    pass_time(seller, hours, after * MINUTE)
    fail(seller, instance)
    of_hourly, of_term = hourly * HOURLY // 60, term * DAILY // 60
    expected = {INSTANCE_SOURCE: of_hourly, TERM_SOURCE: of_term}
    assert given_back() == {kind: micros for kind, micros in expected.items() if micros}
    assert balance(rin) == 1000 * UNIT - 24 * DAILY - before * HOURLY // 60 + of_hourly
    assert market("escrow") == 24 * DAILY - after * DAILY // 60 + of_term, (
        "the term goes on, and what is left of it comes back at its end"
    )
    assert cost(INSTANCE_SOURCE, instance.pk) == before * HOURLY // 60 - of_hourly
    assert cost(TERM_SOURCE, Term.objects.get().pk) == after * DAILY // 60 - of_term
    assert_all_well()


def test_a_prepaid_term_that_has_ended_gives_to_its_renter(rin: User, seller: FakeHost, hours: Clock) -> None:
    """Escrow passes it on at once, since nobody settles the term again."""
    instance = running(rin, seller, "reserved", term="day")
    pass_time(seller, hours, 40 * MINUTE)
    instance = converted(rin, instance, "hourly")
    pass_time(seller, hours, 10 * MINUTE)
    before = balance(rin)
    fail(seller, instance)
    assert given_back() == {INSTANCE_SOURCE: 10 * HOURLY // 60, TERM_SOURCE: 40 * DAILY // 60}
    assert balance(rin) - before == 40 * DAILY // 60, "the ten minutes were charged and refunded at once"
    assert market("escrow") == 0
    assert_all_well()


def test_a_report_that_is_upheld_gives_back_of_both(rin: User, stella: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "hourly")
    pass_time(seller, hours, 30 * MINUTE)
    instance = converted(rin, instance, "reserved", term="day")
    pass_time(seller, hours, 20 * MINUTE)
    report_fault(renter=rin, instance_id=instance.pk, detail="Nothing answers at its port.")
    seller.settle()
    for _ in range(2):
        decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=True)
    assert given_back() == {INSTANCE_SOURCE: 30 * HOURLY // 60, TERM_SOURCE: 20 * DAILY // 60}
    assert_all_well()
