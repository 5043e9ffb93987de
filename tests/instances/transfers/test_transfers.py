"""Clones and moves between hosts, from the order to the last host that lets go; and every way back."""

from collections.abc import Mapping
from functools import partial

import pytest

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.models import Hold, Meter
from common import clock
from common.errors import DomainError, IllegalTransition, InvalidInput
from instances.access.credentials import change_access
from instances.core.selectors import desired_instances
from instances.enforcement.sweeps import compare_leases
from instances.errors import UdpUnsupported
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, InstancePort, Move
from instances.orders.quotes import create_quote
from instances.release.services import release_instance
from instances.transfers.completion import advance_transfers, cancel_transfer
from instances.transfers.selectors import desired_on_host, open_transfer, progress_of
from instances.transfers.start import Destination, clone_instance, migrate_instance, quote_transfer
from instances.volumes.unpaid_disks import update_disk_meters
from marketplace.errors import PriceChanged
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host, Offer
from storage.models import Operation
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, fail_overdue, record_operations
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, order, refused, reload
from tests.instances.fixtures import Clock

FREE = 50


@pytest.fixture
def other(host: FakeHost, hana: User) -> FakeHost:
    return FakeHost(hana, price="2.40")


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    instance = order(rin, host, disk=60, name="work")
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def copying(host: FakeHost, kind: str) -> Operation:
    return Operation.objects.get(host_id=host.host.pk, kind=kind, ended_at=None)


def tell(operation: Operation, phase: str = "done", **seen: object) -> None:
    """What the host's agent reports of it."""
    row = OperationRow(operation.pk, phase, **with_message(seen))
    record_operations(host_id=operation.host_id, rows=[row], at=clock.now())
    apply_results()


def arrive(host: FakeHost, other: FakeHost, outcome: Mapping[str, str] = {}) -> None:
    tell(copying(other, "receive_root"), outcome=outcome)


def there(host: FakeHost) -> Destination:
    return Destination(offer_id=host.offer.pk)


def kinds(instance: Instance) -> list[str]:
    return list(InstanceEvent.objects.filter(instance=instance).order_by("id").values_list("kind", flat=True))


def nothing_is_wrong() -> bool:
    return ledger_findings() == [] and compare_leases() == 0


# -- clone


def test_a_clone_on_the_same_host_is_rented_copied_and_started(rin: User, host: FakeHost, stopped: Instance) -> None:
    target = clone_instance(renter=rin, instance_id=stopped.pk, to=Destination(), name="twin")
    assert (reload(stopped).state, reload(target).state) == ("copying", "copying")
    operation = copying(host, "copy_root")
    assert operation.args == {"source": stopped.pk.hex, "target": target.pk.hex, "number": "0", "disk_gb": "60"}
    assert len(live_leases_of(target.pk)) == 1 and Hold.objects.filter(source_id=target.pk, released_at=None).exists()
    host.settle()
    assert host.running() == set(), "nothing runs before its root is there"
    assert nothing_is_wrong()
    tell(operation, "running", done_bytes=5, total_bytes=10, detail="Copying the data disk.")
    move = open_transfer(target.pk)
    assert move is not None and progress_of(move).percent == 50
    tell(operation)
    assert (reload(stopped).state, reload(target).state) == ("stopped", "requested")
    [row] = [row for row in desired_instances(host.host.pk) if row.id == target.pk]
    assert (row.run, row.root_brought, row.data_disk_gb) == ("running", True, 60)
    host.settle()
    copy = reload(target)
    assert (copy.state, copy.name, copy.rate_micros_per_hour) == ("running", "twin", 3_600_000)
    assert kinds(copy) == ["cloned_from", "cloned", "running"]
    assert reload(stopped).release_at == stopped.release_at and "start" in reload(stopped).actions
    assert Move.objects.get().state == "done" and nothing_is_wrong()


def test_a_clone_to_another_host_meets_through_the_relay(
    rin: User, host: FakeHost, other: FakeHost, stopped: Instance
) -> None:
    target = clone_instance(renter=rin, instance_id=stopped.pk, to=there(other), data_disk=False)
    sender, receiver = copying(host, "send_root"), copying(other, "receive_root")
    operations = [next(o for o in desired_operations(h.host.pk)) for h in (host, other)]
    assert (
        operations[0].args["key"] == operations[1].args["key"]
        and operations[0].args["ticket"] != operations[1].args["ticket"]
    )
    assert not {"key", "ticket"} & {*sender.args, *receiver.args}, "secrets lie sealed"
    assert (operations[1].args["disk_gb"], reload(target).data_disk_gb) == ("0", 0)
    assert int(operations[1].args["root_bytes"]) == 40 * 1000**3 + 20 * 1024**3, "an image and a system disk, whatever comes"
    arrive(host, other)
    sender.refresh_from_db()
    assert sender.state == "cancelled", "whoever has received needs nobody who sends"
    other.settle()
    assert reload(target).state == "running" and reload(target).host_id == other.host.pk
    assert reload(stopped).state == "stopped" and nothing_is_wrong()


def test_a_clone_by_quote_may_bring_a_fresh_disk_of_any_size(rin: User, host: FakeHost, stopped: Instance) -> None:
    quote = create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", billing_mode="tiered", data_disk_gb=5)
    with refused(), pytest.raises(DomainError, match="60 GB"):
        clone_instance(renter=rin, instance_id=stopped.pk, to=Destination(quote_id=quote.pk))
    target = clone_instance(renter=rin, instance_id=stopped.pk, to=Destination(quote_id=quote.pk), data_disk=False)
    assert (target.data_disk_gb, target.billing_mode) == (5, "tiered")
    assert copying(host, "copy_root").args["disk_gb"] == "0"


def test_a_clone_that_fails_costs_nothing_and_goes(rin: User, host: FakeHost, other: FakeHost, stopped: Instance) -> None:
    target = clone_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    tell(copying(other, "receive_root"), "failed", failure_code="disk_full", detail="The host has no room.")
    assert (reload(stopped).state, reload(target).state) == ("stopped", "releasing")
    assert not live_leases_of(target.pk) and not Hold.objects.filter(source_id=target.pk, released_at=None).exists()
    assert not Operation.objects.filter(ended_at=None).exists()
    assert (Move.objects.get().state, Move.objects.get().failure_code) == ("failed", "disk_full")
    other.settle()
    assert reload(target).state == "gone" and kinds(stopped)[-1] == "clone_failed"
    assert not Meter.objects.filter(source_id=target.pk).exists() and nothing_is_wrong()


def test_copying_can_be_cancelled_by_either_side_of_it(rin: User, host: FakeHost, stopped: Instance) -> None:
    for _round in range(2):
        target = clone_instance(renter=rin, instance_id=stopped.pk, to=Destination())
        cancel_transfer(renter=rin, instance_id=target.pk if _round else stopped.pk)
        host.settle()
        assert (reload(stopped).state, reload(target).state) == ("stopped", "gone")
    assert {move.state for move in Move.objects.all()} == {"cancelled"} and nothing_is_wrong()
    with refused(), pytest.raises(IllegalTransition):
        cancel_transfer(renter=rin, instance_id=stopped.pk)


# -- move to another host


def test_a_move_that_would_lose_udp_is_refused(rin: User, other: FakeHost, stopped: Instance) -> None:
    Instance.objects.filter(pk=stopped.pk).update(ports=[*stopped.ports, [51820, 40_299]], udp_ports=[51820])
    for ask in (partial(quote_transfer, verb="migrate"), migrate_instance):
        with refused(), pytest.raises(UdpUnsupported):
            ask(renter=rin, instance_id=stopped.pk, to=there(other))
    Host.objects.filter(pk=other.host.pk).update(publishes_udp=True)
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    assert reload(stopped).state == "copying"
    with refused(), pytest.raises(IllegalTransition):
        change_access(renter=rin, instance_id=stopped.pk, udp_ports=[])


def test_a_move_keeps_everything_and_leaves_the_source_alone_until_the_target_runs(
    rin: User, host: FakeHost, other: FakeHost, stopped: Instance, hours: Clock
) -> None:
    old_ports = {port.host_port for port in InstancePort.objects.filter(instance=stopped)}
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    assert reload(stopped).state == "copying" and reload(stopped).host_id == host.host.pk
    assert nothing_is_wrong()
    arrive(host, other, {"checksum": "abc"})
    moved = reload(stopped)
    assert (moved.state, moved.host_id, moved.offer_id) == ("starting", other.host.pk, other.offer.pk)
    assert (moved.rate_micros_per_hour, moved.run_generation, moved.fence) == (2_400_000, 2, stopped.fence + 1)
    [kept] = desired_on_host(host.host.pk)
    assert (kept.id, kept.run, kept.generation, kept.fence) == (stopped.pk, "stopped", 1, stopped.fence)
    assert host.sync() == [], "its reports of what it keeps are no strangers"
    other.settle()
    assert reload(stopped).state == "running"
    host.settle()
    assert stopped.pk in host.boxes and host.boxes[stopped.pk].container, "not before the sweep has seen it run"
    advance_transfers(now=clock.now())
    [going] = desired_on_host(host.host.pk)
    assert going.run == "gone"
    host.settle()
    assert desired_on_host(host.host.pk) == [] and Move.objects.get().state == "done"
    update_disk_meters(now=clock.now())
    rates = dict(Meter.objects.filter(closed_at=None).values_list("source_kind", "rate_micros"))
    assert rates["instance"] == 2_400_000 and len(rates) == 2
    ports = InstancePort.objects.filter(instance=stopped)
    assert {port.host_id for port in ports} == {other.host.pk} and ports.count() == len(old_ports)
    assert reload(stopped).created_at == stopped.created_at and kinds(stopped)[-3:] == ["moved", "running", "move_done"]
    hours.advance(minutes=1)
    assert nothing_is_wrong()


def test_a_move_that_does_not_run_there_is_taken_back(rin: User, host: FakeHost, other: FakeHost, stopped: Instance) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    other.sync()
    other.break_next(stopped, "ssh_silent", "SSH did not answer.")
    other.settle()
    assert reload(stopped).state == "failed" and reload(stopped).is_proven_stopped, kinds(stopped)
    advance_transfers(now=clock.now())
    back = reload(stopped)
    assert (back.state, back.host_id, back.rate_micros_per_hour) == ("stopped", host.host.pk, 3_600_000)
    assert back.ports == stopped.ports and back.gpu_uuids == stopped.gpu_uuids
    other.settle()
    move = Move.objects.get()
    assert (move.state, move.failure_code) == ("failed", "ssh_silent")
    assert {port.host_id for port in InstancePort.objects.filter(instance=stopped)} == {host.host.pk}
    start_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    assert reload(stopped).state == "running" and nothing_is_wrong()


def test_a_move_can_be_cancelled_and_tried_again(rin: User, host: FakeHost, other: FakeHost, stopped: Instance) -> None:
    """The first try was removed from the new host: the second comes under a higher fence."""
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    cancel_transfer(renter=rin, instance_id=stopped.pk)
    assert (reload(stopped).state, reload(stopped).host_id) == ("stopped", host.host.pk)
    with refused(), pytest.raises(IllegalTransition, match="still being cleaned up"):
        migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    other.settle()
    assert Move.objects.get().state == "cancelled" and not live_leases_of(stopped.pk)
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    other.settle()
    assert reload(stopped).state == "running" and other.running() == {stopped.pk} and nothing_is_wrong()


def test_what_is_moved_there_and_back_runs_where_it_began(
    rin: User, host: FakeHost, other: FakeHost, stopped: Instance
) -> None:
    for source, target in ((host, other), (other, host)):
        migrate_instance(renter=rin, instance_id=stopped.pk, to=there(target))
        arrive(source, target)
        target.settle()
        advance_transfers(now=clock.now())
        source.settle()
        assert target.running() == {stopped.pk}
        stop_instance(renter=rin, instance_id=stopped.pk)
        target.settle()
    assert reload(stopped).host_id == host.host.pk and nothing_is_wrong()


def test_released_before_it_ran_there_it_goes_from_both(
    rin: User, host: FakeHost, other: FakeHost, stopped: Instance
) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    arrive(host, other)
    release_instance(renter=rin, instance_id=stopped.pk)
    other.settle()
    advance_transfers(now=clock.now())
    host.settle()
    assert reload(stopped).state == "gone" and Move.objects.get().state == "done"
    assert host.boxes == {} or all(box.cleared for box in host.boxes.values())
    assert not InstancePort.objects.exists() and nothing_is_wrong()


def test_hosts_that_never_meet_give_up_in_time(
    rin: User, host: FakeHost, other: FakeHost, stopped: Instance, hours: Clock
) -> None:
    migrate_instance(renter=rin, instance_id=stopped.pk, to=there(other))
    hours.advance(hours=4, seconds=1)
    fail_overdue(now=clock.now())
    apply_results()
    assert reload(stopped).state == "stopped" and kinds(stopped)[-1] == "move_failed"
    other.settle()
    assert Move.objects.get().failure_code == "out_of_time" and nothing_is_wrong()


def test_what_cannot_be_is_refused(rin: User, host: FakeHost, other: FakeHost, stopped: Instance) -> None:
    with refused(), pytest.raises(InvalidInput, match="another host"):
        migrate_instance(renter=rin, instance_id=stopped.pk, to=there(host))
    with refused(), pytest.raises(InvalidInput, match="another host"):
        migrate_instance(renter=rin, instance_id=stopped.pk, to=Destination())
    with refused(), pytest.raises(PriceChanged):
        migrate_instance(renter=rin, instance_id=stopped.pk, to=Destination(offer_id=other.offer.pk, max_rate_micros=1))
    quote = quote_transfer(renter=rin, instance_id=stopped.pk, verb="migrate", to=there(other))
    assert quote.data_disk_gb == 60 and quote.rate_micros_per_hour > 2_400_000
    start_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    for verb in (clone_instance, migrate_instance):
        with refused(), pytest.raises(IllegalTransition):
            verb(renter=rin, instance_id=stopped.pk, to=there(other))
    assert not Move.objects.exists()
    offer = Offer.objects.get(pk=other.offer.pk)
    assert offer.gpu_free == 4 and nothing_is_wrong()
