"""What comes into a host's ledger and what does not, and the sweep that writes the number."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common import clock
from marketplace.constants import BREAKER_WINDOW, HOST_SILENT_AFTER
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.hosts.hosts import freeze_host, record_report, retire_host, unfreeze_host
from marketplace.hosts.offers import check_offers
from marketplace.models import Host, Offer, ReliabilityEvent
from marketplace.reliability.events import record_failed_start, record_host_fault, record_start, refresh_reliability
from marketplace.reliability.selectors import reliability_ledger
from tests.billing.money import START, at
from tests.marketplace.shapes import enrolled

LATE = HOST_SILENT_AFTER + timedelta(seconds=1)


class Hours:
    """The clock, moved by the test; hosts report, sweeps run."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self._traveller = traveller

    def advance(self, span: timedelta) -> None:
        self._traveller.shift(span)

    def report(self, *hosts: Host) -> None:
        for host in hosts:
            record_report(host_id=host.pk, at=clock.now(), engine_age_s=0, agent_version="1")

    def sweep(self) -> int:
        return mark_silent_hosts(now=clock.now())


@pytest.fixture
def hours() -> Iterator[Hours]:
    with time_machine.travel(START, tick=False) as traveller:
        yield Hours(traveller)


def outages(host: Host) -> list[tuple[datetime, datetime | None, str]]:
    rows = ReliabilityEvent.objects.filter(host=host, kind="outage").order_by("pk")
    return list(rows.values_list("starts_at", "ends_at", "detail"))


# -- outages


def test_an_outage_lasts_from_the_last_report_to_the_next(hana: User, hours: Hours) -> None:
    host = enrolled(hana, 1)
    hours.advance(LATE)
    assert hours.sweep() == 1
    assert outages(host) == [(START, None, "")]
    hours.advance(timedelta(minutes=10))
    assert hours.sweep() == 0
    hours.report(host)
    hours.report(host)
    assert outages(host) == [(START, clock.now(), "")]
    back = clock.now()
    hours.advance(LATE)
    hours.sweep()
    assert outages(host)[1:] == [(back, None, "")]


def test_fault_027_a_mass_silence_is_nobodys_outage(hana: User, hours: Hours) -> None:
    """A few are marked before the breaker opens: theirs are forgiven. Who stays away has an outage from its end on."""
    hosts = [enrolled(hana, 1, name=f"rig-{number}") for number in range(10)]
    first, others = hosts[:2], hosts[2:]
    hours.advance(timedelta(seconds=30))
    hours.report(*others)
    hours.advance(timedelta(seconds=31))
    assert hours.sweep() == 2
    assert [outages(host) for host in first] == [[(START, None, "")]] * 2
    hours.advance(timedelta(seconds=60))
    assert hours.sweep() == 0
    assert [outages(host) for host in first] == [[(START, START, "mass_silence")]] * 2
    hours.advance(timedelta(minutes=9))
    hours.report(*hosts[1:])
    hours.advance(BREAKER_WINDOW)
    hours.report(*hosts[1:])
    assert hours.sweep() == 0
    over = clock.now()
    assert outages(hosts[0]) == [(START, START, "mass_silence"), (over, None, "")]
    assert [outages(host) for host in hosts[1:]] == [[(START, START, "mass_silence")], *[[]] * 8]
    hours.advance(timedelta(seconds=20))
    hours.report(hosts[0])
    assert outages(hosts[0])[1] == (over, clock.now(), "")


def test_one_that_is_marked_after_a_mass_silence_is_blamed_from_its_end(hana: User, hours: Hours) -> None:
    hosts = [enrolled(hana, 1, name=f"rig-{number}") for number in range(10)]
    hours.advance(timedelta(minutes=1))
    hours.report(*hosts)
    hours.advance(LATE)
    assert hours.sweep() == 0
    hours.advance(timedelta(minutes=20))
    hours.report(*hosts[1:])
    assert hours.sweep() == 1
    assert outages(hosts[0]) == [(clock.now(), None, "")]


def test_an_outage_that_began_long_before_is_not_forgiven(hana: User, hours: Hours) -> None:
    hosts = [enrolled(hana, 1, name=f"rig-{number}") for number in range(10)]
    hours.advance(LATE)
    hours.report(*hosts[1:])
    hours.sweep()
    hours.advance(timedelta(hours=1))
    assert hours.sweep() == 0
    assert outages(hosts[0]) == [(START, None, "")]


def test_the_operators_freeze_ends_an_outage_and_is_none(hana: User, hours: Hours) -> None:
    host = enrolled(hana, 1)
    hours.advance(LATE)
    hours.sweep()
    frozen_at = clock.now()
    freeze_host(host_id=host.pk, reason="x", actor="staff")
    assert outages(host) == [(START, frozen_at, "")]
    hours.advance(timedelta(days=2))
    unfreeze_host(host_id=host.pk, reason="x", actor="staff")
    unfrozen_at = clock.now()
    hours.advance(LATE)
    hours.sweep()
    assert outages(host)[1:] == [(unfrozen_at, None, "")]


def test_retirement_ends_an_outage(hana: User, hours: Hours) -> None:
    host = enrolled(hana, 1)
    hours.advance(LATE)
    hours.sweep()
    retire_host(host_id=host.pk, reason="x", actor="staff")
    assert outages(host) == [(START, clock.now(), "")]
    assert refresh_reliability(now=at(days=5)) == 0


# -- moments


def test_each_run_is_entered_once(hana: User, hours: Hours) -> None:
    host, other, run = enrolled(hana, 1), enrolled(hana, 1, name="b"), uuid4()
    for moment in (START, at(seconds=5)):
        record_start(host_id=host.pk, subject=run, at=moment)
        record_failed_start(host_id=host.pk, subject=run, at=moment, detail="ssh_silent")
        record_host_fault(host_id=host.pk, subject=run, at=moment, detail="x" * 400)
    record_start(host_id=other.pk, subject=run, at=START)
    rows = ReliabilityEvent.objects.filter(host=host).values_list("kind", "starts_at", "ends_at")
    assert sorted(rows) == [("failed_start", START, None), ("host_fault", START, None), ("started", START, None)]


def test_the_ledger_shows_what_counts_and_how_much_of_it(hana: User, hours: Hours) -> None:
    host = enrolled(hana, 1)
    host.maintenances.create(
        category="power", announced_at=START, starts_at=at(hours=30), ends_at=at(hours=34), detail="UPS"
    )
    ReliabilityEvent.objects.create(host=host, kind="outage", starts_at=at(hours=29), ends_at=at(hours=31))
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(hours=33), detail="disk_full")
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(hours=34), detail="disk_full")
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(hours=40), detail="disk_full")
    ledger = reliability_ledger(host.pk, at(hours=36, minutes=3))
    found = [(entry.kind, entry.counts, entry.excluded) for entry in ledger.entries]
    nothing, hour = timedelta(0), timedelta(hours=1)
    assert found == [("failed_start", True, nothing), ("failed_start", False, nothing), ("outage", True, hour)]
    assert (ledger.reckoning.failed_starts, ledger.reckoning.outage) == (1, hour)
    assert ledger.reckoning.excluded == timedelta(hours=4)


# -- the sweep


def test_the_sweep_writes_what_changed_to_hosts_and_offers_alone(hana: User, hours: Hours) -> None:
    enrolled(hana, 1, name="good")
    bad = enrolled(hana, 1, name="bad")
    assert refresh_reliability(now=START) == 0
    assert refresh_reliability(now=at(days=9)) == 2
    assert set(Host.objects.values_list("reliability_ppm", flat=True)) == {1_000_000}
    with CaptureQueriesContext(connection) as queries:
        assert refresh_reliability(now=at(days=10)) == 0
    assert [query["sql"] for query in queries if not query["sql"].startswith("SELECT")] == []
    assert len(queries) == 4
    record_host_fault(host_id=bad.pk, subject=uuid4(), at=at(days=10), detail="gone")
    assert refresh_reliability(now=at(days=11)) == 1
    assert dict(Offer.objects.values_list("host_name", "reliability_ppm")) == {"good": 1_000_000, "bad": 769_200}
    assert check_offers(repair=False) == []
    assert refresh_reliability(now=at(days=41)) == 1
    assert Host.objects.get(pk=bad.pk).reliability_ppm == 1_000_000
