"""What everyone may know of an offer's measured facts: values with age and count, and how the last self-test ended."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import User
from common import clock
from common.errors import NotFound
from marketplace.models import Host
from marketplace.self_tests.selectors import facts_of_offer, self_tests_of
from marketplace.self_tests.services import request_self_test
from marketplace.states import Verdict, Verification
from tests.marketplace.answers import but, good_rows, put_to_test
from tests.marketplace.shapes import enrolled, gpu, offer_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(hana: User) -> Host:
    return enrolled(hana)


def test_nothing_measured_yet(host: Host) -> None:
    facts = facts_of_offer(offer_of(host).pk)
    assert {fact.value for fact in facts.measured} == {None}
    assert {fact.samples for fact in facts.measured} == {0}
    assert (facts.verdict, facts.tested_at, facts.verification) == (None, None, Verification.UNVERIFIED)
    assert (facts.checks_passed, facts.checks_total) == (0, 0)


def test_values_with_count_and_age(host: Host) -> None:
    at = clock.now() - timedelta(hours=2)
    first, second = [each.uuid for each in host.gpus.order_by("index")]
    put_to_test(
        host, but(but(good_rows(host), "gpu_compute", gpu=first, value=70.0), "gpu_compute", gpu=second, value=80.0), at=at
    )
    Host.objects.update(disk_read_mbps=3000, disk_samples=3, disk_measured_at=at, net_down_mbps=400, net_samples=1)
    facts = facts_of_offer(offer_of(host).pk)
    rate = facts.of("gpu_compute")
    assert (rate.value, rate.unit, rate.samples, rate.at) == (75.0, "TFLOPS", 2, at)
    assert (facts.of("disk_read").value, facts.of("disk_read").samples, facts.of("disk_read").at) == (3000, 3, at)
    assert facts.of("network_down").value == 400
    assert facts.of("disk_random_read").value == 12_000
    assert (facts.verdict, facts.verification, facts.tested_at) == (Verdict.PASSED, Verification.VERIFIED, at)
    assert facts.checks_passed == facts.checks_total == 14
    assert not facts.simulated


def test_each_offer_has_its_own_gpus_rate(hana: User) -> None:
    host = enrolled(hana, [gpu(), gpu("Tesla T4", 15_360)])
    t4 = host.gpus.get(model="t4").uuid
    put_to_test(host, but(good_rows(host), "gpu_compute", gpu=t4, value=6.0))
    rates = {offer.gpu_model: facts_of_offer(offer.pk).of("gpu_compute").value for offer in host.offers.all()}
    assert rates == {"rtx-4090": 77.0, "t4": 6.0}


def test_one_under_way_does_not_hide_the_last(hana: User, host: Host) -> None:
    put_to_test(host, but(good_rows(host), "kernel", passed=False))
    request_self_test(actor_id=hana.pk, host_id=host.pk)
    facts = facts_of_offer(offer_of(host).pk)
    assert (facts.verdict, facts.checks_passed, facts.checks_total) == (Verdict.FAILED, 13, 14)


def test_a_simulated_host_says_so(hana: User) -> None:
    made_up = enrolled(hana, [gpu(simulated=True)], runtime="simulated")
    assert facts_of_offer(offer_of(made_up).pk).simulated


def test_no_such_offer_and_no_such_host(mallory: User, host: Host) -> None:
    with pytest.raises(NotFound):
        facts_of_offer(uuid4())
    with pytest.raises(NotFound):
        self_tests_of(mallory.pk, host.pk)
