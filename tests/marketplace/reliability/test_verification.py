"""Verified, lapsed, refused: each move has its reason, its event, and reaches the offers at once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from common import clock
from common.errors import IllegalTransition, NotFound
from marketplace.constants import VERIFIED_FOR
from marketplace.errors import OfferClosed
from marketplace.hosts.hosts import ReportedHost, record_facts
from marketplace.leasing.availability import compare_offers
from marketplace.models import Host, HostEvent, Lease
from marketplace.reliability.verification import refuse_verification, restore_verification
from marketplace.self_tests.services import run_self_test_sweep
from marketplace.spot_market.services import view_spot_market
from marketplace.states import Verification
from tests.marketplace.answers import but, good_rows, put_to_test
from tests.marketplace.shapes import enrolled, gpu, leased, offer_of, shape

pytestmark = pytest.mark.django_db
V = Verification


@pytest.fixture
def facts() -> ReportedHost:
    return shape([gpu(index=n) for n in range(2)])


@pytest.fixture
def host(hana: User, facts: ReportedHost) -> Host:
    return enrolled(hana, list(facts.gpus))


def standing(host: Host) -> Verification:
    """The same word on the host and on its offer."""
    host.refresh_from_db()
    assert offer_of(host).verified == (host.verification == V.VERIFIED)
    assert compare_offers() == []
    return Verification(host.verification)


def last_event(host: Host) -> tuple[str, str]:
    event = HostEvent.objects.filter(host=host).order_by("-id")[0]
    return event.kind, event.detail


def test_a_passed_self_test_verifies(host: Host) -> None:
    assert standing(host) == V.UNVERIFIED
    put_to_test(host)
    assert standing(host) == V.VERIFIED
    assert host.verified_at is not None
    assert last_event(host) == ("verified", "The self-test passed.")


def test_a_failed_one_does_not(host: Host) -> None:
    put_to_test(host, but(good_rows(host), "kernel", passed=False))
    assert standing(host) == V.UNVERIFIED


def test_a_failure_takes_it_away_and_a_pass_brings_it_back(host: Host) -> None:
    put_to_test(host)
    put_to_test(host, but(good_rows(host), "disk_read", value=1.0))
    assert standing(host) == V.LAPSED
    assert host.verified_at is None
    assert last_event(host) == ("lapsed", "The self-test failed.")
    put_to_test(host)
    assert standing(host) == V.VERIFIED


def test_a_second_pass_is_no_new_event(host: Host) -> None:
    put_to_test(host)
    put_to_test(host)
    assert HostEvent.objects.filter(host=host, kind="verified").count() == 1


@pytest.mark.parametrize("change", ["driver", "more", "less", "other"])
def test_other_hardware_takes_it_away_and_the_same_brings_it_back(host: Host, facts: ReportedHost, change: str) -> None:
    put_to_test(host)
    changed: dict[str, Any] = {
        "driver": replace(facts, driver="560.35"),
        "more": replace(facts, gpus=[*facts.gpus, gpu(index=2)]),
        "less": replace(facts, gpus=facts.gpus[:1]),
        "other": replace(facts, gpus=[facts.gpus[0], gpu(index=1)]),
    }
    record_facts(host_id=host.pk, shape=changed[change])
    assert standing(host) == V.LAPSED
    assert last_event(host) == ("lapsed", "The GPUs or the driver changed since the self-test.")
    record_facts(host_id=host.pk, shape=facts)
    assert standing(host) == V.VERIFIED, "it is the hardware that was tested"


def test_fault_054_another_driver_closes_the_host_until_it_is_tested(host: Host, facts: ReportedHost) -> None:
    """Whoever rents there goes on; nobody begins on a driver that was not tried, verified or not."""
    put_to_test(host)
    running = leased(offer_of(host))
    newer = replace(facts, driver="560.35")
    record_facts(host_id=host.pk, shape=newer)
    assert standing(host) == V.LAPSED
    offer = offer_of(host)
    assert (offer.gpu_free, offer.draining) == (0, True)
    with pytest.raises(OfferClosed, match="driver"):
        leased(offer)
    assert not view_spot_market(offer.pk).accepts_rentals
    held = Lease.objects.filter(released_at__isnull=True).values_list("gpu__uuid", flat=True)
    assert tuple(held) == running.gpu_uuids, "its renter keeps it"
    detail = HostEvent.objects.get(host=host, kind="awaits_test").detail
    assert detail == "The driver changed from 550.54 to 560.35: new rentals are paused until a self-test passes."
    record_facts(host_id=host.pk, shape=replace(newer, disk_free_gb=7))
    assert offer_of(host).gpu_free == 0, "nor at the next report"
    put_to_test(host, but(good_rows(host), "kernel", passed=False))
    assert offer_of(host).gpu_free == 0, "nor by a test that fails"
    put_to_test(host)
    assert (standing(host), offer_of(host).gpu_free) == (V.VERIFIED, 1)
    leased(offer_of(host))


def test_fault_054_the_driver_that_was_tested_opens_it_again(host: Host, facts: ReportedHost) -> None:
    put_to_test(host)
    record_facts(host_id=host.pk, shape=replace(facts, driver="560.35"))
    record_facts(host_id=host.pk, shape=facts)
    assert (standing(host), offer_of(host).gpu_free) == (V.VERIFIED, 2)


def test_fault_054_nothing_changes_for_a_host_that_was_never_tested(host: Host, facts: ReportedHost) -> None:
    record_facts(host_id=host.pk, shape=replace(facts, driver="560.35"))
    assert (standing(host), offer_of(host).gpu_free) == (V.UNVERIFIED, 2)


def test_facts_that_always_change_do_not(host: Host, facts: ReportedHost) -> None:
    put_to_test(host)
    record_facts(host_id=host.pk, shape=replace(facts, disk_free_gb=3, images=["x"], kernel="6.9", warnings=["w"]))
    assert standing(host) == V.VERIFIED


def test_age_takes_it_away(host: Host) -> None:
    put_to_test(host)
    now = clock.now()
    run_self_test_sweep(now=now + VERIFIED_FOR - timedelta(minutes=1))
    assert standing(host) == V.VERIFIED
    run_self_test_sweep(now=now + VERIFIED_FOR + timedelta(minutes=1))
    assert standing(host) == V.LAPSED
    assert last_event(host) == ("lapsed", "The last self-test is too old.")


def test_a_newer_pass_keeps_it(host: Host) -> None:
    now = clock.now()
    put_to_test(host, at=now - timedelta(days=29))
    put_to_test(host, at=now)
    run_self_test_sweep(now=now + timedelta(days=20))
    assert standing(host) == V.VERIFIED


# -- staff


def test_staff_refuse_whatever_the_self_tests_say(host: Host) -> None:
    put_to_test(host)
    refuse_verification(host_id=host.pk, reason="It lies about its disk.", actor="staff:1")
    assert standing(host) == V.REFUSED
    assert last_event(host) == ("refused", "It lies about its disk.")
    put_to_test(host)
    assert standing(host) == V.REFUSED
    refuse_verification(host_id=host.pk, reason="again", actor="staff:1")
    assert HostEvent.objects.filter(host=host, kind="refused").count() == 1


@pytest.mark.parametrize(("passed", "then"), [(True, V.VERIFIED), (False, V.UNVERIFIED)])
def test_a_refusal_that_is_taken_back_lets_the_self_tests_decide(host: Host, passed: bool, then: Verification) -> None:
    put_to_test(host, good_rows(host) if passed else but(good_rows(host), "kernel", passed=False))
    refuse_verification(host_id=host.pk, reason="x", actor="staff:1")
    restore_verification(host_id=host.pk, now=clock.now(), actor="staff:1")
    assert standing(host) == then


def test_what_was_not_refused_cannot_be_restored(host: Host) -> None:
    with pytest.raises(IllegalTransition):
        restore_verification(host_id=host.pk, now=clock.now(), actor="staff:1")
    with pytest.raises(NotFound):
        refuse_verification(host_id=uuid4(), reason="x", actor="staff:1")


def test_a_simulated_host_says_so_in_its_event(hana: User) -> None:
    made_up = enrolled(hana, [gpu(simulated=True)], name="sim", runtime="simulated")
    put_to_test(made_up, good_rows(made_up, simulated=True))
    assert last_event(made_up) == ("verified", "The simulated self-test passed.")


def test_a_gpu_that_is_lost_for_good_takes_it_away(host: Host, facts: ReportedHost) -> None:
    put_to_test(host)
    record_facts(host_id=host.pk, shape=replace(facts, gpus=facts.gpus[:1]))
    assert standing(host) == V.LAPSED
    put_to_test(host)
    assert standing(host) == V.VERIFIED, "a new self-test speaks for what is left"
