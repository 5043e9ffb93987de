"""A thousand rounds of the purge against a start, and of the purge against an extension: one of the two, never both."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection

from accounts.models import User
from billing.constants import INSTANCE_SOURCE, RETENTION_SOURCE
from billing.metering.holds import release_hold
from billing.models import Hold
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.release.services import expire_instance
from instances.retention.data_retention import keep_data
from marketplace.hosts.offers import check_offers
from marketplace.leasing.lease import release_leases
from marketplace.models import Lease
from tests.billing.money import UNIT, assert_sound, grant
from tests.instances.fake_host import FakeHost, base_image, order_running, reload
from tests.profiles import examples

pytestmark = pytest.mark.django_db(transaction=True)

STARTS, EXTENSIONS = examples(200, long=1_000), examples(30, long=100)


class Pair:
    """Two threads that keep their connections. Each round one of them begins a moment ahead: the one that lost the last
    round gains a little, so that on a machine of any speed both win about as often.
    """

    STEP = 0.001

    def __init__(self, first: Callable[[], object], second: Callable[[], object]) -> None:
        self._works, self._delays = (first, second), [0.0, 0.0]
        self._results: list[object] = [None, None]
        self._ahead, self._chance = 0.0, random.Random(7)
        self._gate = threading.Barrier(3, timeout=60)
        self._over = False
        self._threads = [threading.Thread(target=self._run, args=(place,), daemon=True) for place in (0, 1)]

    def __enter__(self) -> "Pair":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_args: object) -> None:
        self._over = True
        self._gate.wait()
        for thread in self._threads:
            thread.join(60)

    def go(self) -> list[object]:
        """What each returned, or the refusal it met."""
        ahead = self._ahead + self._chance.uniform(-2, 2) * self.STEP
        self._delays = [max(0.0, -ahead), max(0.0, ahead)]
        self._gate.wait()
        self._gate.wait()
        second_lost = isinstance(self._results[1], DomainError)
        self._ahead += -self.STEP if second_lost else self.STEP
        return list(self._results)

    def _run(self, place: int) -> None:
        try:
            while True:
                self._gate.wait()
                if self._over:
                    return
                time.sleep(self._delays[place])
                try:
                    self._results[place] = self._works[place]()
                except DomainError as error:
                    self._results[place] = error
                self._gate.wait()
        finally:
            connection.close()


@pytest.fixture
def instance(alice: User, hana: User) -> Instance:
    """Stopped, its data due."""
    base_image()
    grant(alice, 100_000 * UNIT)
    host = FakeHost(hana)
    instance = order_running(alice, host)
    stop_instance(renter=alice, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def due(instance: Instance) -> None:
    """Stopped again with its data due, whatever the round before has made of it."""
    with use_case():
        for kind in (INSTANCE_SOURCE, RETENTION_SOURCE):
            release_hold(source_kind=kind, source_id=instance.pk)
        release_leases(holder=instance.pk, reason="again")
        now = clock.now()
        Instance.objects.filter(pk=instance.pk).update(
            **{"state": "stopped", "desired": "stopped", "stopped_at": now, "release_at": now - timedelta(seconds=1)},
            **{"paid_from": None, "retention_micros_per_day": 0, "deadline": None},
        )


def taken(instance: Instance) -> tuple[int, int]:
    """Live leases and open holds."""
    leases = Lease.objects.filter(holder=instance.pk, released_at=None).count()
    return leases, Hold.objects.filter(source_id=instance.pk, released_at=None).count()


def test_purges_against_starts(alice: User, instance: Instance) -> None:
    winners = Counter[str]()
    purge = lambda: expire_instance(instance_id=instance.pk)  # noqa: E731  (one of a pair)
    start = lambda: start_instance(renter=alice, instance_id=instance.pk)  # noqa: E731
    with Pair(purge, start) as pair:
        for _ in range(STARTS):
            due(instance)
            purged, started = pair.go()
            refused = isinstance(started, DomainError)
            assert purged is refused, (purged, started)
            state = reload(instance).state
            assert state == ("releasing" if purged else "starting")
            assert taken(instance) == ((0, 0) if purged else (1, 1))
            winners[state] += 1
    assert sum(winners.values()) == STARTS
    assert min(winners["releasing"], winners["starting"]) > STARTS // 20, f"no race was run: {winners}"
    due(instance)
    assert compare_leases() == 0
    assert check_offers(repair=False) == []
    assert_sound()


def test_purges_against_extensions(alice: User, instance: Instance) -> None:
    """What was paid for is kept; what is gone costs nothing."""
    winners = Counter[str]()
    purge = lambda: expire_instance(instance_id=instance.pk)  # noqa: E731  (one of a pair)
    keep = lambda: keep_data(renter=alice, instance_id=instance.pk, days=7)  # noqa: E731
    with Pair(purge, keep) as pair:
        for _ in range(EXTENSIONS):
            due(instance)
            purged, kept = pair.go()
            assert purged is isinstance(kept, DomainError), (purged, kept)
            row = reload(instance)
            assert row.state == ("releasing" if purged else "stopped")
            assert taken(instance) == (0, 0 if purged else 1)
            winners[row.state] += 1
    assert min(winners["releasing"], winners["stopped"]) > EXTENSIONS // 20, f"no race was run: {winners}"
    due(instance)
    assert_sound()
