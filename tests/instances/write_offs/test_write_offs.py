"""A dead host is written off: its leases end, nobody pays for its silence, and everyone is told."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import DatabaseError, connection, transaction

from accounts.models import OutgoingMail, User
from billing.metering.settle import settle_meters
from billing.models import Commitment, Hold, Meter
from common import clock
from common.errors import DomainError, Forbidden, InvalidInput
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.stop import stop_instance
from instances.metering.findings import metering_findings
from instances.models import InstanceEvent, InstancePort, Term
from instances.write_offs.services import settle_write_offs
from marketplace.constants import WRITE_OFF_AFTER
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.hosts.hosts import retire_host
from marketplace.hosts.offers import check_offers
from marketplace.hosts.write_offs import write_off_host
from marketplace.leasing.lease import release_leases
from marketplace.models import Host, HostEvent, HostWriteOff, Lease
from storage.models import Snapshot, Volume
from storage.volumes.snapshots import snapshot_volume
from storage.volumes.volumes import create_volume
from tests.billing.money import assert_sound, charged, wallet
from tests.instances.fake_host import FakeHost, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import rented, running, sell
from tests.instances.volume_world import carry_out

REASON = "Its data centre burnt down."


def spendable_of(user: User) -> int:
    return wallet(user).spendable_micros


def die(clocks: Clock, /, **span: float) -> None:
    """The host says nothing more."""
    clocks.advance(**(span or {"minutes": 20}))
    mark_silent_hosts(now=clock.now())


def written_off(host: FakeHost, staff: User) -> HostWriteOff:
    written = write_off_host(staff=staff, host_id=host.host.pk, reason=REASON, now=clock.now())
    settle_write_offs(now=clock.now())
    return HostWriteOff.objects.get(pk=written.pk)


def all_is_settled(host: FakeHost) -> None:
    assert not Lease.objects.filter(gpu__host=host.host, released_at=None).exists()
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Meter.objects.filter(closed_at=None).exists()
    assert not InstancePort.objects.filter(host=host.host).exists()
    assert compare_leases() == 0
    assert check_offers(repair=False) == []
    assert metering_findings() == []
    assert_sound()


def test_what_runs_ends_and_is_paid_to_the_last_report(rin: User, stella: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host, gpu_count=2)
    hours.advance(seconds=60)
    host.sync()
    seen = clock.now()
    die(hours, days=3)
    assert reload(instance).state == "running", "silence alone concludes nothing (D2)"
    before = spendable_of(rin)
    written = written_off(host, stella)
    row = reload(instance)
    assert (row.state, row.failure_code, row.fault_of) == ("gone", "host_written_off", "host")
    assert f"{seen.day} {seen:%b %H:%M} UTC" in row.failure_detail
    assert charged(instance.pk) == 2 * 3_600_000 // 60, "a minute of two GPUs, and nothing of three days"
    assert spendable_of(rin) > before
    assert Host.objects.get().state == "retired"
    assert written.settled_at is not None
    assert (written.decided_by, written.reason, written.last_seen_at) == (stella, REASON, seen)
    assert HostEvent.objects.get(kind="written_off").actor == f"staff:{stella.pk.hex}"
    kinds = set(InstanceEvent.objects.filter(instance=instance).values_list("kind", flat=True))
    assert {"host_written_off", "written_off", "given_back"} <= kinds
    all_is_settled(host)


def test_the_renter_is_told_what_can_be_done(rin: User, stella: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    die(hours)
    written_off(host, stella)
    mails = OutgoingMail.objects.get(key=f"write-off:{instance.pk.hex}")
    assert mails.to == rin.email
    assert "the host's fault" in mails.body
    assert "/market?gpu_model=rtx-4090&gpu_count=1&region=eu" in mails.body
    settle_write_offs(now=clock.now())
    assert OutgoingMail.objects.filter(key__startswith="write-off").count() == 1
    assert mail.outbox == []


def test_every_mode_and_state_ends(rin: User, stella: User, host: FakeHost, hours: Clock) -> None:
    sell(host, spot_floor_micros=1_000_000)
    kept = order_running(rin, host)
    stop_instance(renter=rin, instance_id=kept.pk, hold=True)
    host.settle()
    stopping = order_running(rin, host)
    stop_instance(renter=rin, instance_id=stopping.pk)
    snapshotted = rented(rin, host, "hourly", data_disk_gb=80)
    prepaid = running(rin, host, "reserved", term="day")
    before = {row.pk for row in (kept, stopping, snapshotted, prepaid)}
    die(hours)
    written_off(host, stella)
    assert {reload(row).state for row in (kept, stopping, snapshotted, prepaid)} == {"gone"}
    assert len(before) == 4
    all_is_settled(host)


def test_a_term_ends_without_a_fee_and_what_was_ahead_comes_back(
    rin: User, stella: User, host: FakeHost, hours: Clock
) -> None:
    sell(host)
    before = spendable_of(rin)
    instance = running(rin, host, "reserved", term="week")
    for _ in range(6):
        hours.advance(minutes=1)
        host.sync()
    assert spendable_of(rin) == before - 3_240_000 * 168
    die(hours, hours=5)
    written_off(host, stella)
    term = Term.objects.get(instance=instance)
    assert (term.state, term.exit_fee_micros) == ("ended", 0)
    assert spendable_of(rin) >= before - 3_240_000 // 10
    all_is_settled(host)


def test_a_deposit_is_free_again(rin: User, stella: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    before = spendable_of(rin)
    running(rin, host, "reserved", term="month", payment="none")
    assert Commitment.objects.get().ended_at is None
    die(hours)
    written_off(host, stella)
    assert Commitment.objects.get().ended_at is not None
    assert spendable_of(rin) == before
    all_is_settled(host)


def test_fault_047_volumes_and_snapshots_end_with_their_host(rin: User, stella: User, host: FakeHost, hours: Clock) -> None:
    volume = create_volume(owner=rin, host_id=host.host.pk, name="data", size_gb=100)
    carry_out(host)
    snapshot_volume(owner=rin, volume_id=volume.pk, name="monday")
    carry_out(host)
    host.sync()
    create_volume(owner=rin, host_id=host.host.pk, name="half", size_gb=100)
    before = spendable_of(rin)
    die(hours, minutes=70)
    settle_meters(now=clock.now())  # and no sweep of silence before it
    assert charged(volume.pk) > 0, "storage is charged by the clock, through the silence too"
    written_off(host, stella)
    settle_write_offs(now=clock.now())
    assert set(Volume.objects.values_list("state", flat=True)) == {"gone"}
    assert Snapshot.objects.get().state == "gone"
    assert spendable_of(rin) >= before, "what an hour of the silence had cost is given back"
    mails = OutgoingMail.objects.filter(subject__contains="was lost")
    assert "data" in "".join(mails.values_list("body", flat=True))
    assert HostWriteOff.objects.get().settled_at is not None
    all_is_settled(host)


# -- refused


@pytest.mark.parametrize(("minutes", "words"), [(0, "Plan maintenance"), (14, "Plan maintenance")])
def test_a_host_that_reports_is_refused(stella: User, host: FakeHost, hours: Clock, minutes: int, words: str) -> None:
    host.sync()
    hours.advance(minutes=minutes)
    with pytest.raises(DomainError, match=words) as failure:
        write_off_host(staff=stella, host_id=host.host.pk, reason=REASON, now=clock.now())
    assert failure.value.code == "host_still_reports"
    assert not HostWriteOff.objects.exists()


def test_nobody_else_and_nothing_without_a_reason(stella: User, hana: User, host: FakeHost, hours: Clock) -> None:
    die(hours)
    with pytest.raises(Forbidden):
        write_off_host(staff=hana, host_id=host.host.pk, reason=REASON, now=clock.now())
    with pytest.raises(InvalidInput):
        write_off_host(staff=stella, host_id=host.host.pk, reason="dead", now=clock.now())


def test_a_mass_silence_is_ours(stella: User, hana: User, host: FakeHost, hours: Clock) -> None:
    hosts = [host, FakeHost(hana), FakeHost(hana)]
    hours.advance(seconds=2)
    for each in hosts:
        each.sync()
    hours.advance(**{"minutes": WRITE_OFF_AFTER / timedelta(minutes=1)})
    mark_silent_hosts(now=clock.now())
    with pytest.raises(DomainError, match="silent together"):
        write_off_host(staff=stella, host_id=host.host.pk, reason=REASON, now=clock.now())


def test_asked_twice_it_is_one(stella: User, host: FakeHost, hours: Clock) -> None:
    die(hours)
    first, second = written_off(host, stella), written_off(host, stella)
    assert first.at == second.at
    assert HostEvent.objects.filter(kind="written_off").count() == 1


# -- the last wall


def refused_by_the_table(work: Any) -> None:
    with pytest.raises(DatabaseError, match=r"proof|leases|stands|denied"), transaction.atomic():
        work()
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_no_lease_ends_without_proof_or_a_write_off(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    refused_by_the_table(lambda: release_leases(holder=instance.pk, reason="hasty"))
    refused_by_the_table(lambda: release_leases(holder=instance.pk, reason="written off"))
    refused_by_the_table(lambda: Host.objects.update(state="retired"))
    with refused(), pytest.raises(DomainError, match="leased"):
        retire_host(host_id=host.host.pk, reason="", actor="")


def test_the_decision_stands(stella: User, host: FakeHost, hours: Clock) -> None:
    die(hours)
    write_off_host(staff=stella, host_id=host.host.pk, reason=REASON, now=clock.now())
    refused_by_the_table(lambda: HostWriteOff.objects.update(reason="Something else entirely."))
    refused_by_the_table(lambda: HostWriteOff.objects.all()._raw_delete("default"))
