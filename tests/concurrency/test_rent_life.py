"""Races between a renter's wishes, the host's reports and the sweeps: someone wins, the books agree, nobody deadlocks."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from uuid import UUID

import pytest

from accounts.models import User
from billing.models import Hold, Meter
from common import clock
from common.errors import DomainError
from instances.core.selectors import any_instance, data_due
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.release import services as release_services
from instances.release.services import expire_instance, release_instance
from marketplace.hosts.offers import check_offers
from marketplace.models import Incident, Lease
from storage.models import Image
from tests.billing.money import assert_sound, in_parallel
from tests.instances.fake_host import FakeHost, order, order_running, reload

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 10


@pytest.fixture
def host(hana: User, image: Image) -> FakeHost:
    return FakeHost(hana, gpus=8)


def codes(results: list[object]) -> Counter[str]:
    """Refusals by code; anything that is no refusal and no success stands out."""
    errors = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(error, DomainError) and error.status == 409 for error in errors), errors
    return Counter(error.code if isinstance(error, DomainError) else "" for error in errors)


def books_agree() -> None:
    assert compare_leases() == 0
    assert check_offers(repair=False) == []
    assert not Incident.objects.exists()
    assert_sound()


def asks(renter: User, instance: Instance, *verbs: Callable[..., Instance]) -> list[Callable[[], object]]:
    return [partial(verb, renter=renter, instance_id=instance.pk) for verb in verbs]


def test_one_stop_of_many(rich: User, host: FakeHost) -> None:
    instance = order_running(rich, host)
    refusals = codes(in_parallel(asks(rich, instance, *[stop_instance] * 12)))
    assert refusals == {"unlawful_action": 11}
    assert reload(instance).state == "stopping"


def test_one_start_of_many(rich: User, host: FakeHost) -> None:
    instance = order_running(rich, host)
    stop_instance(renter=rich, instance_id=instance.pk)
    host.settle()
    refusals = codes(in_parallel(asks(rich, instance, *[start_instance] * 12)))
    assert sum(refusals.values()) == 11
    assert (reload(instance).state, reload(instance).fence) == ("starting", 2)
    assert Lease.objects.filter(holder=instance.pk, released_at=None).count() == 1
    assert Hold.objects.filter(source_id=instance.pk, released_at=None).count() == 1
    books_agree()


def test_everything_at_once_ends_with_the_release(rich: User, host: FakeHost) -> None:
    for _ in range(ROUNDS):
        instance = order_running(rich, host)
        verbs: list[Callable[..., Instance]] = [stop_instance, restart_instance, release_instance, start_instance] * 3
        codes(in_parallel([*asks(rich, instance, *verbs), host.sync]))
        assert reload(instance).state == "releasing"
        host.settle()
        host.settle()
        assert reload(instance).state == "gone"
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Meter.objects.filter(closed_at=None).exists()
    books_agree()


def test_fault_042_a_stop_and_the_report_of_running(rich: User, host: FakeHost) -> None:
    for _ in range(ROUNDS):
        instance = order(rich, host)
        host.sync()
        host.work()
        report = host.report()
        works: list[Callable[[], object]] = [partial(host.deliver, report), *asks(rich, instance, stop_instance)]
        assert codes(in_parallel(works)) == {}
        assert reload(instance).state == "stopping"
        open_meters = Meter.objects.filter(source_id=instance.pk, closed_at=None)
        assert all(meter.capped_at is not None for meter in open_meters)
        host.settle()
        assert reload(instance).state == "stopped"
    assert not Meter.objects.filter(closed_at=None).exists()
    books_agree()


def test_fault_017_one_report_by_eight_workers_at_once(rich: User, host: FakeHost) -> None:
    instances = [order(rich, host) for _ in range(4)]
    host.sync()
    host.work()
    report = host.report()
    assert codes(in_parallel([lambda: host.deliver(report)] * 8)) == {}
    assert {reload(instance).state for instance in instances} == {"running"}
    assert Meter.objects.count() == 4
    stopping = [stop_instance(renter=rich, instance_id=instance.pk) for instance in instances]
    host.sync()
    host.work()
    report = host.report()
    assert codes(in_parallel([lambda: host.deliver(report)] * 8)) == {}
    assert {reload(instance).state for instance in stopping} == {"stopped"}
    books_agree()


def test_fault_048_a_start_between_the_look_and_the_purge_saves_the_data(
    rich: User, host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = order_running(rich, host)
    stop_instance(renter=rich, instance_id=instance.pk)
    host.settle()
    Instance.objects.filter(pk=instance.pk).update(release_at=clock.now())
    find = any_instance

    def find_then_start(instance_id: UUID) -> Instance:
        found = find(instance_id)
        assert codes(in_parallel(asks(rich, instance, start_instance))) == {}
        return found

    monkeypatch.setattr(release_services, "any_instance", find_then_start)
    assert not expire_instance(instance_id=instance.pk)
    assert reload(instance).state == "starting"
    books_agree()


def test_fault_048_retention_and_start_never_both(rich: User, host: FakeHost) -> None:
    winners: Counter[str] = Counter()
    for _ in range(ROUNDS):
        instance = order_running(rich, host)
        stop_instance(renter=rich, instance_id=instance.pk)
        host.settle()
        Instance.objects.filter(pk=instance.pk).update(release_at=clock.now())
        assert instance.pk in data_due(clock.now())
        works: list[Callable[[], object]] = [
            *asks(rich, instance, start_instance),
            partial(expire_instance, instance_id=instance.pk),
        ]
        codes(in_parallel(works))
        state = reload(instance).state
        assert state in ("starting", "releasing")
        winners[state] += 1
        leases = Lease.objects.filter(holder=instance.pk, released_at=None).count()
        holds = Hold.objects.filter(source_id=instance.pk, released_at=None).count()
        assert leases == holds == (1 if state == "starting" else 0)
        release_instance(renter=rich, instance_id=instance.pk)
        host.settle()
    assert sum(winners.values()) == ROUNDS
    books_agree()
