"""What GPUs, hosts, offers, instances and days earned: exact shares, by hand and against the ledger."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.metering.host_fault_credits import credit_source
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Entry
from billing.payouts.earned_intervals import accrued_earnings
from common.db.transactions import use_case
from common.ids import public_id
from instances.earnings.report import Report, earnings_report
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.web.earnings.rows import rows_by
from tests.billing.money import UNIT, assert_sound, grant
from tests.instances.fake_host import FakeHost, order_running, reload

pytestmark = pytest.mark.django_db

START = datetime(2026, 3, 1, 21, tzinfo=UTC)
PRICE = 1_000_001
LAST = date(2026, 3, 31)


class Day:
    """A clock that moves while hosts report, holds are renewed and use is booked."""

    def __init__(self, clock: Any, *hosts: FakeHost) -> None:
        self.clock, self.hosts, self.at = clock, hosts, START

    def until(self, moment: datetime) -> None:
        while self.at < moment:
            self.at = min(moment, self.at + timedelta(seconds=110))
            self.clock.move_to(self.at)
            for host in self.hosts:
                host.sync()
            extend_holds(now=self.at)
            settle_meters(now=self.at)

    def stop(self, instance: Instance, host: FakeHost) -> None:
        stop_instance(renter=instance.renter, instance_id=instance.pk)
        host.settle()
        settle_meters(now=self.at)


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as coordinates:
        yield coordinates


@pytest.fixture
def host(clock: Any, hana: User) -> FakeHost:
    return FakeHost(hana, gpus=4, price="1.000001")


def report_of(owner: User, **more: object) -> Report:
    return earnings_report(owner_id=owner.pk, since=date(2026, 3, 1), until=LAST, **more)  # type: ignore[arg-type]


def net_in_the_ledger(owner: User) -> int:
    entries = Entry.objects.filter(wallet__owner=owner, wallet__kind="host").exclude(kind="payout")
    return sum(entries.values_list("amount_micros", flat=True))


def test_each_gpu_gets_its_exact_share(clock: Any, host: FakeHost, hana: User, alice: User) -> None:
    grant(alice, 100 * UNIT)
    day = Day(clock, host)
    three = order_running(alice, host, gpu_count=3)
    day.until(START + timedelta(hours=2, seconds=7))
    day.stop(three, host)
    shares = {key.gpu_uuid: found for key, found in report_of(hana).by_gpu().items()}
    leased = reload(three).gpu_uuids
    # Two whole hours of 3.000003, then 7 s of it: 5,833.34 → 5,833. Fees of the sums: 300,000.3, 600,000.6, 600,583.94.
    assert [shares[uuid].gross_micros for uuid in leased] == [2_000_002 + 1945, 2_000_002 + 1944, 2_000_002 + 1944]
    assert sum(found.fee_micros for found in shares.values()) == 600_584
    assert sum(found.net_micros for found in shares.values()) == net_in_the_ledger(hana)
    assert {found.gpu_hours for found in shares.values()} == {2.0}
    assert len(shares) == 3
    assert_sound(day.at)


def test_sums_of_every_grouping_are_the_ledgers(clock: Any, host: FakeHost, hana: User, alice: User, bob: User) -> None:
    other = FakeHost(hana, gpus=2, price="0.777777")
    day = Day(clock, host, other)
    for renter in (alice, bob):
        grant(renter, 200 * UNIT)
    first, second = order_running(alice, host, gpu_count=3), order_running(bob, other, gpu_count=2)
    day.until(START + timedelta(hours=1, seconds=31))
    day.stop(first, host)
    third = order_running(bob, host, gpu_count=4)  # GPUs that the first one had too
    day.until(START + timedelta(hours=4, seconds=59))  # past midnight
    day.stop(third, host)
    day.stop(second, other)
    report, net = report_of(hana), net_in_the_ledger(hana)
    assert net > 0
    assert report.total().net_micros == net
    groupings = ("day", "month", "gpu", "instance", "offer", "host")
    for by in groupings:
        rows = rows_by(report, by)
        assert sum(row.sum.net_micros for row in rows) == net, by
        assert sum(row.sum.gross_micros for row in rows) == report.total().gross_micros, by
    counts = {by: len(rows_by(report, by)) for by in groupings}
    assert counts == {"day": 2, "month": 1, "gpu": 6, "instance": 3, "offer": 2, "host": 2}
    assert report_of(hana, host_id=other.host.pk).total() == report.by_host()[other.host.pk]
    assert_sound(day.at)


def test_gpus_of_days_add_up_to_those_of_the_span(clock: Any, host: FakeHost, hana: User, alice: User) -> None:
    grant(alice, 100 * UNIT)
    day = Day(clock, host)
    three = order_running(alice, host, gpu_count=3)
    day.until(START + timedelta(hours=5, minutes=13, seconds=11))
    day.stop(three, host)
    whole = {key: found.net_micros for key, found in report_of(hana).by_gpu().items()}
    days = [date(2026, 3, 1), date(2026, 3, 2)]
    each = [earnings_report(owner_id=hana.pk, since=one, until=one).by_gpu() for one in days]
    assert all(each)
    assert whole == {key: sum(one[key].net_micros for one in each if key in one) for key in whole}


def test_what_is_given_back(clock: Any, host: FakeHost, hana: User, alice: User) -> None:
    grant(alice, 100 * UNIT)
    day = Day(clock, host)
    two = order_running(alice, host, gpu_count=2)
    day.until(START + timedelta(hours=1))
    day.stop(two, host)
    with use_case():
        credit_source(
            source_kind=INSTANCE_SOURCE,
            source_id=two.pk,
            key="x",
            since=START,
            until=day.at,
            reason="host fault",
            actor="system",
        )
    report = report_of(hana)
    assert report.total().gross_micros == report.total().given_back_micros == 2 * PRICE
    assert (report.total().net_micros, report.total().fee_micros) == (0, 0)
    assert {found.net_micros for found in report.by_gpu().values()} == {0}
    assert len(report.by_gpu()) == 2
    [line] = report.given_back()
    assert "host fault" in line.piece.why


def test_what_runs_is_accrued(clock: Any, host: FakeHost, hana: User, alice: User) -> None:
    grant(alice, 100 * UNIT)
    day = Day(clock, host)
    order_running(alice, host)
    day.until(START + timedelta(minutes=30))
    assert accrued_earnings(owner_id=hana.pk, now=day.at) == 450_001  # of 500,000.5 → 500,001, less 50,000
    assert report_of(hana).total().net_micros == 0


# -- over HTTP


@pytest.fixture
def earned(clock: Any, host: FakeHost, alice: User) -> Instance:
    grant(alice, 100 * UNIT)
    day = Day(clock, host)
    instance = order_running(alice, host, gpu_count=2)
    Instance.objects.filter(pk=instance.pk).update(name="alices-secret")
    day.until(START + timedelta(hours=2))
    day.stop(instance, host)
    return reload(instance)


@pytest.fixture
def page(hana: User) -> Client:
    client = Client()
    client.force_login(hana)
    return client


def test_the_api(earned: Instance, page: Client, host: FakeHost) -> None:
    body = page.get("/api/v1/hosts/earnings?by=gpu").json()
    assert body["total"] == {
        "gross": "4.000004", "given_back": "0.00", "fee": "0.40", "net": "3.600004", "gpu_hours": 4.0,
    }  # fmt: skip
    assert [row["gpu"] for row in body["results"]] == sorted(earned.gpu_uuids)
    assert {row["net"] for row in body["results"]} == {"1.800002"}
    assert (body["balance"], body["maturing"], body["payable"], body["accrued"]) == ("3.600004", "3.600004", "0.00", "0.00")
    one = page.get(f"/api/v1/hosts/{public_id('host', host.host.pk)}/earnings?since=2026-03-01&until=2026-03-02").json()
    assert (one["by"], [row["day"] for row in one["results"]]) == ("day", ["2026-03-01"])
    assert one["total"] == body["total"]
    by_instance = page.get("/api/v1/hosts/earnings?by=instance").json()
    assert [row["instance"] for row in by_instance["results"]] == [public_id("inst", earned.pk)]
    assert earned.name not in str(by_instance)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("by=renter", "by"),
        ("since=x", "since"),
        ("since=2026-03-02&until=2026-03-01", "since"),
        ("since=2020-01-01", "since"),
    ],
)
def test_wrong_questions(page: Client, query: str, field: str) -> None:
    reply = page.get(f"/api/v1/hosts/earnings?{query}")
    assert reply.status_code == 400
    assert [error["field"] for error in reply.json()["errors"]] == [field]


def test_others_see_nothing_of_it(earned: Instance, host: FakeHost, mallory: User) -> None:
    client = Client()
    client.force_login(mallory)
    assert client.get(f"/api/v1/hosts/{public_id('host', host.host.pk)}/earnings").status_code == 404
    assert client.get("/api/v1/hosts/earnings").json()["results"] == []
    assert "3.60" not in client.get("/hosts/earnings").content.decode()


@pytest.mark.parametrize("by", ["gpu", "instance", "offer", "host", "day", "month", "nonsense"])
def test_the_page_in_every_grouping(earned: Instance, page: Client, by: str) -> None:
    text = page.get(f"/hosts/earnings?by={by}").content.decode()
    assert "$3.600004" in text
    assert earned.name not in text


def test_the_table_for_a_spreadsheet(earned: Instance, page: Client) -> None:
    reply = page.get("/hosts/earnings.csv?by=day&since=2026-03-01&until=2026-03-31")
    assert reply["Content-Type"].startswith("text/csv")
    lines = reply.content.decode().splitlines()
    assert lines == [
        "day,gpu_model,host,gross,given_back,fee,net,gpu_hours",
        "2026-03-01,,,4.000004,0.00,0.40,3.600004,4.00",
    ]


def test_a_wrong_span_shows_this_month(page: Client) -> None:
    assert page.get("/hosts/earnings?since=2026-09-09&until=2026-01-01").status_code == 200


def test_strangers_are_sent_to_sign_in(db: None) -> None:
    for path in ("/hosts/earnings", "/hosts/earnings.csv"):
        assert Client().get(path)["Location"].startswith("/accounts/login/")
