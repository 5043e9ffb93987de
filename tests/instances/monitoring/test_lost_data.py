"""A data disk that its host does not find: told, noted, not paid for, and never made anew."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from billing.constants import DISK_SOURCE, VOLUME_SOURCE
from billing.metering.costs import open_holds
from common import clock
from common.ids import public_id
from common.messages.message import HostSays, Quoted
from common.money import parse_money
from instances.core.alert_messages import english_sentences_of, english_title_of
from instances.core.failure_messages import VolumeMissing
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Alert, Instance
from instances.release.services import release_instance
from instances.transfers.selectors import desired_on_host
from instances.volumes.unpaid_disks import update_disk_meters
from instances.volumes.usage import record_disk_usage
from marketplace.models import Incident, Offer
from storage.models import Volume
from storage.sweeps import update_storage_meters
from storage.volumes.attachments import attach
from storage.volumes.snapshots import restore_volume, snapshot_volume
from storage.volumes.usage import DiskUseRow
from storage.volumes.volumes import create_volume
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, order, reload
from tests.instances.fixtures import Clock, Sign
from tests.instances.volume_world import carry_out

PAID_GB = 60


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    """An instance with a data disk that costs something, stopped after a first run."""
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=4_800)
    instance = order(rin, host, disk=PAID_GB)
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def told_made(host: FakeHost) -> bool:
    [row] = desired_on_host(host.host.pk)
    return row.data_disk_made


def is_metered(instance: Instance) -> bool:
    return instance.pk in open_holds(source_kind=DISK_SOURCE, source_ids=[instance.pk])


def open_incidents(instance: Instance) -> int:
    subject = public_id("inst", instance.pk)
    return Incident.objects.filter(kind="data_disk_missing", subject=subject, closed_at__isnull=True).count()


def test_a_host_may_make_the_disk_until_it_has_run_with_it(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    assert not told_made(host)
    host.sync()
    host.break_next(instance, "create_failed")
    host.settle()
    host.sync()
    assert reload(instance).state == "failed" and not told_made(host)
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert reload(instance).state == "running" and told_made(host)


def test_a_lost_disk_is_told_and_costs_nothing_until_it_is_back(
    rin: User, host: FakeHost, hours: Clock, stopped: Instance
) -> None:
    assert is_metered(stopped)
    start_instance(renter=rin, instance_id=stopped.pk)
    host.sync()
    host.break_next(stopped, "data_disk_missing")
    host.settle()
    lost = reload(stopped)
    assert (lost.state, lost.failure_code, lost.fault_of) == ("failed", "data_disk_missing", "host")
    assert lost.data_disk_lost_at is not None and lost.data_disk_made
    assert open_incidents(stopped) == 1
    assert not is_metered(stopped)

    hours.advance(hours=1)
    update_disk_meters(now=clock.now())
    assert not is_metered(stopped), "the sweep does not begin again what is lost"

    host.sync()
    start_instance(renter=rin, instance_id=stopped.pk)
    assert told_made(host)
    host.settle()
    found = reload(stopped)
    assert (found.state, found.data_disk_lost_at) == ("running", None)
    assert open_incidents(stopped) == 0
    update_disk_meters(now=clock.now())
    assert is_metered(stopped)
    assert_sound()


# -- told while it is mounted


def say(host: FakeHost, key: UUID, trouble: str | None) -> None:
    record_disk_usage(host_id=host.host.pk, rows=[DiskUseRow(key, 1, 2, 1, 2, trouble)], at=clock.now())


def alerts_of(instance: Instance) -> list[Alert]:
    return list(Alert.objects.filter(instance=instance, resolved_at=None).order_by("key"))


@pytest.fixture
def running(rin: User, host: FakeHost, stopped: Instance) -> Instance:
    start_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    return reload(stopped)


@pytest.mark.parametrize("trouble", ["missing", "read_only"])
def test_a_disk_in_trouble_under_a_running_instance(host: FakeHost, hours: Clock, running: Instance, trouble: str) -> None:
    say(host, running.pk, "")
    assert is_metered(running) and not alerts_of(running)
    for _ in range(2):
        hours.advance(seconds=20)
        host.sync()
        say(host, running.pk, trouble)
    reloaded = reload(running)
    assert reloaded.state == "running" and reloaded.data_disk_lost_at == clock.now() - timedelta(seconds=20)
    assert not is_metered(running) and open_incidents(running) == 1
    [alert] = alerts_of(running)
    assert (alert.kind, alert.fault_of, alert.facts) == ("data_lost", "host", {"trouble": trouble})
    assert "Copy out what you need now" in english_sentences_of(alert)
    update_disk_meters(now=clock.now())
    assert not is_metered(running)

    say(host, running.pk, None)
    assert reload(running).data_disk_lost_at is not None, "an agent that does not look has found nothing"
    say(host, running.pk, "")
    assert reload(running).data_disk_lost_at is None
    assert not alerts_of(running) and open_incidents(running) == 0
    update_disk_meters(now=clock.now())
    assert is_metered(running)
    assert_sound()


def test_another_hosts_word_counts_nothing(host: FakeHost, hana: User, running: Instance) -> None:
    say(FakeHost(hana), running.pk, "missing")
    assert reload(running).data_disk_lost_at is None and is_metered(running)


# -- volumes


@pytest.fixture
def volume(rin: User, host: FakeHost) -> Volume:
    made = create_volume(owner=rin, name="models", size_gb=20, host_id=host.host.pk)
    carry_out(host)
    return Volume.objects.get(pk=made.pk)


def is_charged(volume: Volume) -> bool:
    return volume.pk in open_holds(source_kind=VOLUME_SOURCE, source_ids=[volume.pk])


def incidents_of(volume: Volume) -> int:
    subject = public_id("vol", volume.pk)
    return Incident.objects.filter(kind="volume_missing", subject=subject, closed_at=None).count()


def test_fault_047_a_lost_volume_costs_nothing_and_a_snapshot_is_offered(
    rin: User, host: FakeHost, hours: Clock, volume: Volume, sign: Sign
) -> None:
    api = sign(rin)
    path = f"/api/v1/volumes/{public_id('vol', volume.pk)}"
    assert is_charged(volume) and api.get(path).json()["lost_at"] is None
    hours.advance(minutes=30)
    host.was_there()
    say(host, volume.pk, "missing")
    lost_at = clock.now()
    for _ in range(3):
        hours.advance(minutes=30)
        host.was_there()
        say(host, volume.pk, "missing")
        update_storage_meters(now=clock.now())
    assert not is_charged(volume) and incidents_of(volume) == 1
    shown = api.get(path).json()
    assert (datetime.fromisoformat(shown["lost_at"]), shown["restore_from"]) == (lost_at, None)
    assert parse_money(shown["cost_so_far"]) == volume.micros_per_day // 48, "half an hour of two hours"
    assert "The host can't find it" in page(rin)
    refusal = api.post(f"{path}/resize", {"size_gb": 30}, content_type="application/json")
    assert (refusal.status_code, refusal.json()["code"]) == (409, "volume_busy")


def test_fault_047_a_restored_snapshot_takes_its_place(
    rin: User, host: FakeHost, hours: Clock, volume: Volume, sign: Sign
) -> None:
    snapshot = snapshot_volume(owner=rin, volume_id=volume.pk)
    carry_out(host)
    say(host, volume.pk, "missing")
    shown = sign(rin).get(f"/api/v1/volumes/{public_id('vol', volume.pk)}").json()
    assert shown["restore_from"] == public_id("snap", snapshot.pk)
    assert "Restore snapshot" in page(rin)
    restore_volume(owner=rin, snapshot_id=snapshot.pk)
    assert carry_out(host) == ["restore_disk"]
    assert Volume.objects.get(pk=volume.pk).lost_at is None and incidents_of(volume) == 0
    update_storage_meters(now=clock.now())
    assert is_charged(volume)
    assert_sound()


@pytest.mark.parametrize("named", [lambda volume: volume.pk.hex, lambda volume: volume.name])
def test_fault_047_a_volume_that_a_start_does_not_find(
    rin: User, host: FakeHost, stopped: Instance, volume: Volume, named: Callable[[Volume], str]
) -> None:
    """The one that is named, by an agent of 0.1.0 by its name, of several; found again by the next start that succeeds."""
    other = create_volume(owner=rin, name="data", size_gb=20, host_id=host.host.pk)
    carry_out(host)
    for each in (volume, other):
        attach(owner_id=rin.pk, holder=stopped.pk, host_id=host.host.pk, volume_id=each.pk)
    start_instance(renter=rin, instance_id=stopped.pk)
    host.sync()
    gone = VolumeMissing(volume=named(volume), why=HostSays(words=Quoted("It is gone.")))
    host.break_next(stopped, "volume_missing", gone)
    host.settle()
    assert reload(stopped).failure_code == "volume_missing"
    assert (is_charged(volume), is_charged(other)) == (False, True)
    host.sync()
    start_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    assert reload(stopped).state == "running"
    update_storage_meters(now=clock.now())
    assert is_charged(volume) and incidents_of(volume) == 0


def test_fault_047_it_is_told_to_the_renter_whose_instance_has_it(
    rin: User, host: FakeHost, stopped: Instance, volume: Volume
) -> None:
    attach(owner_id=rin.pk, holder=stopped.pk, host_id=host.host.pk, volume_id=volume.pk)
    start_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    say(host, volume.pk, "read_only")
    [alert] = alerts_of(stopped)
    assert (alert.kind, alert.facts) == ("data_lost", {"trouble": "read_only", "volume": "models"})
    assert english_title_of(alert) == "The volume models has a problem on its host"
    say(host, volume.pk, "")
    assert not alerts_of(stopped)


def page(renter: User) -> str:
    client = Client()
    client.force_login(renter)
    return client.get(reverse("volumes")).content.decode()


@pytest.mark.parametrize("end", ["it runs again", "it is released"])
def test_a_lost_root_is_no_incident_any_more_once_it_does_not_matter(
    rin: User, host: FakeHost, stopped: Instance, end: str
) -> None:
    start_instance(renter=rin, instance_id=stopped.pk)
    host.sync()
    host.break_next(stopped, "root_lost")
    host.settle()
    lost = Incident.objects.filter(kind="root_lost", subject=public_id("inst", stopped.pk))
    assert lost.get().closed_at is None
    if end == "it runs again":
        start_instance(renter=rin, instance_id=stopped.pk)
    else:
        release_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    host.settle()
    assert lost.get().closed_by == ("runs again" if end == "it runs again" else "released")
