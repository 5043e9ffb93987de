"""A reserved term and an hourly rent never overlap on one GPU (fault 7): whoever holds it holds it, running or stopped."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from common import clock
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.release.services import release_instance
from marketplace.errors import GpuTaken
from marketplace.models import Gpu, Lease
from storage.models import Image
from tests.billing.money import UNIT, assert_sound, grant
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import converted, rented, running, sell

_I31 = """
SELECT count(*) FROM marketplace_lease a JOIN marketplace_lease b USING (gpu_id)
WHERE a.id < b.id AND tstzrange(a.leased_at, a.released_at) && tstzrange(b.leased_at, b.released_at)
"""


@pytest.fixture
def last_gpu(hours: Clock, hana: User, image: Image) -> FakeHost:
    host = FakeHost(hana, gpus=1)
    sell(host)
    return host


@pytest.fixture
def other(bob: User) -> User:
    grant(bob, 10_000 * UNIT)
    return bob


def overlaps() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_I31)
        return int(cursor.fetchone()[0])


def is_refused(renter: User, host: FakeHost, mode: str) -> None:
    wishes: dict[str, Any] = {"term": "week"} if mode == "reserved" else {}
    with refused(), pytest.raises(GpuTaken):
        rented(renter, host, mode, **wishes)


def test_fault_007_a_term_waits_for_nobody_and_takes_nobody_s_gpu(
    rin: User, other: User, last_gpu: FakeHost, hours: Clock
) -> None:
    hourly = order_running(rin, last_gpu)
    is_refused(other, last_gpu, "reserved")
    hours.advance(hours=3)
    is_refused(other, last_gpu, "reserved")
    assert reload(hourly).state == "running"
    release_instance(renter=rin, instance_id=hourly.pk)
    is_refused(other, last_gpu, "reserved")  # released, and not proven gone yet
    last_gpu.settle()
    assert running(other, last_gpu, "reserved", term="week").state == "running"
    assert overlaps() == 0
    assert_sound()


def test_fault_007_the_future_of_a_term_is_sold_to_nobody(rin: User, other: User, last_gpu: FakeHost, hours: Clock) -> None:
    reserved = running(rin, last_gpu, "reserved", term="day")
    stop_instance(renter=rin, instance_id=reserved.pk)
    last_gpu.settle()
    assert reload(reserved).state == "stopped"
    for _ in range(4):
        is_refused(other, last_gpu, "hourly")
        hours.advance(hours=6)
        last_gpu.sync()
    last_gpu.settle()  # the term is over: nothing runs, so its GPU is free
    assert order(other, last_gpu).state == "requested"
    assert overlaps() == 0
    assert compare_leases() == 0


def test_fault_007_an_hourly_rent_becomes_a_term_on_its_own_gpu_alone(
    rin: User, other: User, last_gpu: FakeHost, hours: Clock
) -> None:
    hourly = order_running(rin, last_gpu)
    term = converted(rin, hourly, "reserved", term="week")
    assert (term.state, term.billing_mode) == ("running", "reserved")
    is_refused(other, last_gpu, "hourly")
    assert Lease.objects.filter(released_at=None).count() == 1
    assert overlaps() == 0


def test_the_last_wall_refuses_what_all_checks_let_through(rin: User, last_gpu: FakeHost) -> None:
    """With the services out of the way: a second lease of the same time is refused by the table."""
    held: Instance = running(rin, last_gpu, "reserved", term="day")
    gpu = Gpu.objects.get()
    second = Lease(gpu=gpu, offer=last_gpu.offer, holder=last_gpu.host.pk, price_micros=1, leased_at=clock.now())
    with pytest.raises(IntegrityError, match="one_live_lease_per_gpu"), transaction.atomic():
        second.save(force_insert=True)
    assert Lease.objects.get(released_at=None).holder == held.pk
