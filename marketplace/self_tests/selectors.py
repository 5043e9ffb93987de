"""Reads of self-tests for a host's owner, and of an offer's public measurements."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from common.errors import NotFound
from marketplace.constants import SELF_TESTS_SHOWN
from marketplace.models import Gpu, Host, Offer, SelfTest
from marketplace.states import Verdict, Verification


def self_tests_of(owner_id: UUID, host_id: UUID) -> QuerySet[SelfTest]:
    """Return the last self-tests of an own host, newest first.

    Raises:
        NotFound: the host is not theirs.
    """
    if not Host.objects.filter(pk=host_id, owner_id=owner_id).exists():
        raise NotFound("This host doesn't exist.")
    return SelfTest.objects.filter(host_id=host_id).order_by("-asked_at", "-id")[:SELF_TESTS_SHOWN]


@dataclass(frozen=True)
class MeasuredFact:
    """A measured figure.

    `value` is the median of `samples` measurements, the newest made at `at`; None means not measured.
    """

    name: str  # gpu_compute, disk_read, disk_write, disk_random_read, disk_random_write, network_up, network_down
    value: float | None
    unit: str
    samples: int
    at: datetime | None


@dataclass(frozen=True)
class ProvenFacts:
    """Measurements of an offer's host, and the result of its last self-test; `simulated` ones are made up."""

    measured: Sequence[MeasuredFact]
    simulated: bool
    verification: Verification
    verified_at: datetime | None
    verdict: Verdict | None  # of the last finished self-test
    tested_at: datetime | None
    checks_passed: int
    checks_total: int

    def of(self, name: str) -> MeasuredFact:
        return next(fact for fact in self.measured if fact.name == name)


def facts_of_offer(offer_id: UUID) -> ProvenFacts:
    """Return the public facts of an offer, without the single checks, which are for the owner.

    Raises:
        NotFound: there is no such offer.
    """
    offer = Offer.objects.select_related("host").filter(pk=offer_id).first()
    if offer is None:
        raise NotFound("This offer doesn't exist.")
    host = offer.host
    over = SelfTest.objects.filter(host=host, verdict__in=(Verdict.PASSED, Verdict.FAILED))
    last = over.order_by("-finished_at", "-id").first()
    checks = [] if last is None else [check for check in last.checks if check["needed"]]
    return ProvenFacts(
        measured=[*_of_gpus(offer, last), *_of_host(host), *_at_random(last)],
        simulated=offer.simulated,
        verification=Verification(host.verification),
        verified_at=host.verified_at,
        verdict=None if last is None else Verdict(last.verdict),
        tested_at=None if last is None else last.finished_at,
        checks_passed=sum(bool(check["passed"]) for check in checks),
        checks_total=len(checks),
    )


def _of_host(host: Host) -> list[MeasuredFact]:
    disk, net = (host.disk_samples, host.disk_measured_at), (host.net_samples, host.net_measured_at)
    return [
        MeasuredFact("disk_read", host.disk_read_mbps, "MB/s", *disk),
        MeasuredFact("disk_write", host.disk_write_mbps, "MB/s", *disk),
        MeasuredFact("network_up", host.net_up_mbps, "Mbit/s", *net),
        MeasuredFact("network_down", host.net_down_mbps, "Mbit/s", *net),
    ]


def _of_gpus(offer: Offer, last: SelfTest | None) -> list[MeasuredFact]:
    """Return the median of the offer's GPUs in the last self-test, one sample each."""
    uuids = set(Gpu.objects.filter(offer=offer, present=True).values_list("uuid", flat=True))
    return [_figure("gpu_compute", "TFLOPS", last, lambda check: check["gpu"] in uuids)]


def _at_random(last: SelfTest | None) -> list[MeasuredFact]:
    return [_figure(name, "IOPS", last, lambda check: True) for name in ("disk_random_read", "disk_random_write")]


def _figure(name: str, unit: str, last: SelfTest | None, counts: Any) -> MeasuredFact:
    checks = [] if last is None else last.checks
    values = [check["value"] for check in checks if check["id"] == name and check["value"] is not None and counts(check)]
    if last is None or not values:
        return MeasuredFact(name, None, unit, 0, None)
    return MeasuredFact(name, round(median(values), 2), unit, len(values), last.finished_at)
