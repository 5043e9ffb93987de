"""A write-off against the agent that comes back at the same moment: the first to commit decides, and never both."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Any
from uuid import UUID

import pytest

from accounts.models import OutgoingMail, User
from billing.models import Hold
from common import clock
from common.errors import DomainError, StaleRow
from instances.core.write_off_selectors import instances_to_end
from instances.enforcement.sweeps import compare_leases
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.transfers.start import migrate_instance
from instances.write_offs import services
from instances.write_offs.services import settle_write_offs
from marketplace.hosts import write_offs
from marketplace.hosts.hosts import record_report
from marketplace.hosts.offers import check_offers
from marketplace.hosts.write_offs import write_off_host
from marketplace.models import Host, HostWriteOff, Incident, Lease
from storage.models import Image, Operation, Volume
from storage.operations.services import OperationRow, record_operations, request_operation
from storage.volumes import volumes
from storage.volumes.snapshots import snapshot_volume
from storage.volumes.volumes import create_volume
from tests.billing.money import assert_sound, in_parallel
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.transfers.test_transfers import copying, there
from tests.instances.volume_world import carry_out
from tests.lock_waits import take_locks_down, wait_until_one_waits_for_us

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6
REASON = "Nobody has heard of it for a day."


@pytest.fixture
def silent(hana: User, rich: User, image: Image) -> tuple[FakeHost, Instance]:
    return a_silent_host(hana, rich)


def a_silent_host(owner: User, renter: User) -> tuple[FakeHost, Instance]:
    host = FakeHost(owner)
    instance = order_running(renter, host)
    Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=2))
    return host, instance


def writes_off(staff: User, host: FakeHost) -> Callable[[], object]:
    return partial(write_off_host, staff=staff, host_id=host.host.pk, reason=REASON, now=clock.now())


def test_fault_025_a_write_off_and_a_report_never_both(rich: User, hana: User, stella: User, image: Image) -> None:
    outcomes: Counter[str] = Counter()
    for _ in range(ROUNDS):
        host, instance = a_silent_host(hana, rich)
        report = host.report()
        results = in_parallel([writes_off(stella, host), partial(host.deliver, report)])
        refusal = next((each for each in results if isinstance(each, DomainError)), None)
        settle_write_offs(now=clock.now())
        state = Host.objects.get(pk=host.host.pk).state
        written = HostWriteOff.objects.filter(pk=host.host.pk).exists()
        assert (state == "retired") == written
        assert (refusal is None) == written
        assert reload(instance).state == ("gone" if written else "running")
        assert Lease.objects.filter(holder=instance.pk, released_at=None).count() == (0 if written else 1)
        outcomes[state] += 1
    assert compare_leases() == 0
    assert check_offers(repair=False) == []
    assert_sound()


def raced(monkeypatch: pytest.MonkeyPatch, staff: User, host: FakeHost, *, waited_for: bool) -> tuple[Host, list[object]]:
    """The report comes in after the write-off has judged the host dead, and before it has committed."""
    judge, heard = write_offs.check_dead, []

    def judge_and_hear(row: Host, now: object) -> None:
        judge(row, now)  # type: ignore[arg-type]
        heard.append(True)
        in_background.append(start(partial(host.deliver, host.report())))
        wait_until_one_waits_for_us() if waited_for else in_background[0].result(timeout=30)

    in_background: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:

        def start(work: Callable[[], object]) -> Future[object]:
            return pool.submit(lambda: in_parallel([work])[0])

        monkeypatch.setattr(write_offs, "check_dead", judge_and_hear)
        writes_off(staff, host)()
        results = [each.result(timeout=30) for each in in_background]
    assert heard
    return Host.objects.get(pk=host.host.pk), results


def test_a_report_waits_for_the_write_off_and_then_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch, stella: User, silent: tuple[FakeHost, Instance]
) -> None:
    host, instance = silent
    row, results = raced(monkeypatch, stella, host, waited_for=True)
    assert not any(isinstance(each, Exception) for each in results)
    assert row.state == "retired"
    assert row.last_seen_at < clock.now() - timedelta(hours=1), "the report that came too late was not written down"
    assert not record_report(host_id=row.pk, at=clock.now(), engine_age_s=0.0, agent_version="1")
    settle_write_offs(now=clock.now())
    assert reload(instance).state == "gone"


def test_the_lock_matters(monkeypatch: pytest.MonkeyPatch, stella: User, silent: tuple[FakeHost, Instance]) -> None:
    """Control: without it a host is written off although its report has just been taken and committed."""
    host, _instance = silent
    take_locks_down(monkeypatch)
    with pytest.raises(StaleRow):  # the compare-and-swap of its state is what is left between the two
        raced(monkeypatch, stella, host, waited_for=False)


def test_two_members_of_staff_at_once_and_two_workers_after_them(rich: User, hana: User, stella: User, image: Image) -> None:
    """One row, one end of each instance, one mail, one posting; the sweep breaks off for none of them."""
    for _ in range(ROUNDS):
        host, instance = a_silent_host(hana, rich)
        volume = a_volume_with_a_snapshot(rich, host)
        Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=2))
        first, second = in_parallel([writes_off(stella, host), writes_off(stella, host)])
        assert isinstance(first, HostWriteOff) and isinstance(second, HostWriteOff) and first.at == second.at
        ended = in_parallel([partial(settle_write_offs, now=clock.now())] * 2)
        assert not any(isinstance(each, Exception) for each in ended), ended
        settle_write_offs(now=clock.now())
        assert reload(instance).state == "gone"
        assert Volume.objects.get(pk=volume.pk).state == "gone"
        assert InstanceEvent.objects.filter(instance=instance, kind="written_off").count() == 1
        assert OutgoingMail.objects.filter(key=f"write-off:{instance.pk.hex}").count() == 1
    assert not HostWriteOff.objects.filter(settled_at=None).exists()
    assert not Incident.objects.filter(kind="write_off_stuck").exists()
    assert compare_leases() == 0
    assert_sound()


def a_volume_with_a_snapshot(owner: User, host: FakeHost) -> Volume:
    Host.objects.filter(pk=host.host.pk).update(state="online", last_seen_at=clock.now())
    volume = create_volume(owner=owner, host_id=host.host.pk, name=f"v-{host.host.pk.hex[-12:]}", size_gb=20)
    carry_out(host)
    snapshot_volume(owner=owner, volume_id=volume.pk)
    carry_out(host)
    return volume


def test_what_has_moved_to_another_host_meanwhile_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, rich: User, hana: User, stella: User, image: Image
) -> None:
    """It is switched after the sweep has listed what is on the dead host, and before it is its turn."""
    host, other = FakeHost(hana), FakeHost(hana)
    instance = order_running(rich, host)
    stop_instance(renter=rich, instance_id=instance.pk)
    host.settle()
    migrate_instance(renter=rich, instance_id=instance.pk, to=there(other))
    row = OperationRow(copying(other, "receive_root").pk, "done")
    record_operations(host_id=other.host.pk, rows=[row], at=clock.now())
    Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=2))
    writes_off(stella, host)()
    listed = instances_to_end

    def list_and_switch(host_id: UUID) -> list[UUID]:
        found = listed(host_id)
        in_parallel([apply_results])
        return found

    monkeypatch.setattr(services, "end_work_of_host", lambda host_id: [])  # as when the copy's end is taken up first
    monkeypatch.setattr(services, "instances_to_end", list_and_switch)
    settle_write_offs(now=clock.now())
    assert (reload(instance).state, reload(instance).host_id) == ("starting", other.host.pk)
    other.settle()
    assert reload(instance).state == "running"


def test_an_order_that_is_written_down_late_ends_too(
    monkeypatch: pytest.MonkeyPatch, rich: User, hana: User, stella: User, image: Image
) -> None:
    """A volume's order has seen its host alive; the host is written off and settled before the order commits."""
    host = FakeHost(hana)
    original = request_operation

    with ThreadPoolExecutor(1) as pool:
        ready, go = Event(), Event()

        def wait_and_ask(**order: Any) -> Operation:
            ready.set()
            assert go.wait(30)
            return original(**order)

        monkeypatch.setattr(volumes, "request_operation", wait_and_ask)
        order = partial(create_volume, owner=rich, host_id=host.host.pk, name="late", size_gb=20)
        late = pool.submit(lambda: in_parallel([order])[0])
        assert ready.wait(30)
        monkeypatch.setattr(volumes, "request_operation", original)
        Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=2))
        writes_off(stella, host)()
        settle_write_offs(now=clock.now())
        assert HostWriteOff.objects.get().settled_at is not None
        go.set()
        assert isinstance(late.result(timeout=30), Volume)
    for _ in range(2):
        settle_write_offs(now=clock.now())
    assert Volume.objects.get().state == "gone"
    assert not Operation.objects.filter(ended_at=None).exists()
    assert not Hold.objects.filter(released_at=None).exists()
    assert_sound()
