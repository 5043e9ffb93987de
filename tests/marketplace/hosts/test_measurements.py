"""Measured speeds: each once, the median of the last five on the host and its offers, with count and age."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from accounts.models import User
from common import clock
from common.errors import InvalidInput
from marketplace.constants import MEASUREMENTS_COUNTED, MEASUREMENTS_KEPT
from marketplace.hosts.hosts import ReportedHost, record_facts
from marketplace.leasing.availability import compare_offers
from marketplace.models import Host, Measurement
from tests.marketplace.shapes import enrolled, gpu, offer_of, shape

pytestmark = pytest.mark.django_db


@pytest.fixture
def facts() -> ReportedHost:
    return shape([gpu()])


@pytest.fixture
def host(hana: User, facts: ReportedHost) -> Host:
    return enrolled(hana, list(facts.gpus))


def now_s() -> int:
    return int(clock.now().timestamp())


def disk(facts: ReportedHost, read: int, write: int, stamp: int) -> ReportedHost:
    return replace(facts, disk_read_mbps=read, disk_write_mbps=write, disk_measured_at=stamp)


def tell(host: Host, reported: ReportedHost) -> Host:
    record_facts(host_id=host.pk, shape=reported)
    host.refresh_from_db()
    assert compare_offers() == []
    return host


def test_nothing_is_known_before_it_is_measured(host: Host, facts: ReportedHost) -> None:
    tell(host, facts)
    assert (host.disk_read_mbps, host.net_up_mbps, host.disk_samples, host.net_measured_at) == (None, None, 0, None)
    assert not Measurement.objects.exists()


def test_a_measurement_reaches_host_and_offer(host: Host, facts: ReportedHost) -> None:
    tell(host, replace(disk(facts, 3000, 2000, now_s()), net_up_mbps=90, net_down_mbps=400, net_measured_at=now_s()))
    assert (host.disk_read_mbps, host.disk_write_mbps, host.disk_samples) == (3000, 2000, 1)
    assert (host.net_up_mbps, host.net_down_mbps, host.net_samples) == (90, 400, 1)
    offer = offer_of(host)
    assert (offer.disk_read_mbps, offer.disk_write_mbps, offer.net_up_mbps, offer.net_down_mbps) == (3000, 2000, 90, 400)
    for at in (host.disk_measured_at, host.net_measured_at):
        assert at is not None
        assert abs(clock.now() - at) < timedelta(seconds=10)


def test_the_same_one_again_counts_once(host: Host, facts: ReportedHost) -> None:
    """Facts are sent whenever anything of them changed."""
    stamp = now_s()
    for free in range(5):
        tell(host, replace(disk(facts, 3000, 2000, stamp), disk_free_gb=free))
    assert host.disk_samples == 1
    assert Measurement.objects.count() == 1


def test_the_median_of_the_last_five(host: Host, facts: ReportedHost) -> None:
    base = now_s() + 100
    Host.objects.filter(pk=host.pk).update(enrolled_at=clock.now() - timedelta(days=100))
    speeds = [9000, 9000, 9000, 100, 3000, 2000, 50, 2500]
    for number, speed in enumerate(speeds):
        tell(host, disk(facts, speed, speed // 2, base - 1000 + number))
    assert host.disk_samples == MEASUREMENTS_COUNTED
    assert (host.disk_read_mbps, host.disk_write_mbps) == (2000, 1000), "of 100, 3000, 2000, 50, 2500"


def test_an_even_number(host: Host, facts: ReportedHost) -> None:
    Host.objects.filter(pk=host.pk).update(enrolled_at=clock.now() - timedelta(days=1))
    tell(host, disk(facts, 1000, 100, now_s() - 10))
    tell(host, disk(facts, 2000, 200, now_s() - 5))
    assert (host.disk_read_mbps, host.disk_write_mbps, host.disk_samples) == (1500, 150, 2)


def test_old_ones_are_forgotten(host: Host, facts: ReportedHost) -> None:
    Host.objects.filter(pk=host.pk).update(enrolled_at=clock.now() - timedelta(days=1))
    for number in range(MEASUREMENTS_KEPT + 5):
        tell(host, disk(facts, number, number, now_s() - 1000 + number))
    assert Measurement.objects.count() == MEASUREMENTS_KEPT
    assert not Measurement.objects.filter(in_mbps=0).exists()


@pytest.mark.parametrize("stamp", [0, 2**53])
def test_a_wrong_clock_dates_nothing_before_the_host_or_in_the_future(host: Host, facts: ReportedHost, stamp: int) -> None:
    tell(host, disk(facts, 1, 1, stamp))
    assert host.disk_measured_at is not None
    assert host.enrolled_at <= host.disk_measured_at <= clock.now()


@pytest.mark.parametrize(
    "wrong",
    [{"disk_read_mbps": -1}, {"net_up_mbps": 2**31}, {"disk_measured_at": -5}, {"net_measured_at": 2**60}],
)
def test_a_measurement_that_cannot_be_is_refused(host: Host, facts: ReportedHost, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        record_facts(host_id=host.pk, shape=replace(facts, **wrong))


def test_half_a_measurement_is_none(host: Host, facts: ReportedHost) -> None:
    tell(host, replace(facts, disk_read_mbps=3000, disk_measured_at=now_s()))
    assert host.disk_read_mbps is None


@pytest.mark.parametrize(("reported", "known"), [(True, True), (False, False), (None, False)])
def test_nvlink_reaches_the_offer(host: Host, facts: ReportedHost, reported: bool | None, known: bool) -> None:
    tell(host, replace(facts, nvlink=reported))
    assert (host.nvlink, offer_of(host).nvlink) == (known, known)
