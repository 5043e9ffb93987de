"""Volumes that grow and go to other hosts, as a script meets them: through the API, to the last cent."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Hold
from common import clock
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.transfers.selectors import desired_on_host
from instances.volumes.transfers import advance_volume_transfers
from marketplace.models import Host, Lease, Offer
from marketplace.states import HostState
from storage.models import Attachment, Operation, VolumeMove
from storage.sweeps import update_storage_meters
from tests.billing.money import UNIT, wallet
from tests.instances.fake_host import FakeHost, order_running, refused, reload
from tests.instances.fixtures import Clock, Sign
from tests.instances.modes import sell
from tests.instances.volume_world import carry_out
from tests.instances.volumes.test_volume_api import call, code, inst, key_of, make_volume, must

DAY_GB = 100_000  # micro-units: 0.10 a GB and day; twice that on the other host
SUM = "ab" * 32


@pytest.fixture
def api(rin: User, host: FakeHost, other: FakeHost, sign: Sign) -> Client:
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=DAY_GB)
    Offer.objects.filter(pk=other.offer.pk).update(disk_micros_gb_day=2 * DAY_GB)
    return sign(rin)


@pytest.fixture
def other(host: FakeHost, hana: User) -> FakeHost:
    return FakeHost(hana, price="2.40")


def host_id(host: FakeHost) -> str:
    return f"host_{host.host.pk.hex}"


def at(volume: dict[str, Any], rest: str = "") -> str:
    return f"/volumes/{volume['id']}{rest}"


def shown(api: Client, volume: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = must(api.get(f"/api/v1{at(volume)}"), 200)
    return found


def carry(here: FakeHost, there: FakeHost, **how: Any) -> None:
    """Both hosts do their part, then look at what follows from it."""
    outcome = {"checksum": SUM, "bytes": "1000", "cuts": "1"}
    carry_out(here)
    carry_out(there, outcome=outcome, **how)
    advance_volume_transfers(now=clock.now())


def quarter(hours: Clock) -> None:
    """Six hours."""
    for _ in range(6):
        hours.advance(hours=1)
        extend_holds(now=clock.now())
        settle_meters(now=clock.now())


def test_a_larger_volume_costs_more_from_when_it_is_there(api: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    volume = make_volume(api, host)  # 20 GB
    before = wallet(rin).balance_micros
    quarter(hours)
    rehearsed = must(call(api, at(volume, "/resize?dry_run=true"), {"size_gb": 50}), 200)
    assert rehearsed["growth"] == {"size_gb": 50, "daily_rate": "5.00"} and not Operation.objects.filter(ended_at=None)
    assert code(call(api, at(volume, "/resize"), {"size_gb": 20})) == "400 invalid_input"
    assert code(call(api, at(volume, "/resize"), {"size_gb": 1900})) == "409 no_storage"
    assert code(call(api, at(volume, "/resize"), {"size_gb": 50, "max_daily_rate": "4.99"})) == "409 price_changed"
    grown = must(call(api, at(volume, "/resize"), {"size_gb": 50, "max_daily_rate": "5.00"}), 202)
    assert (grown["size_gb"], grown["daily_rate"], grown["growth"]["size_gb"]) == (20, "2.00", 50)
    with refused():
        assert code(call(api, at(volume, "/resize"), {"size_gb": 60})) == "409 volume_busy"
    quarter(hours)  # its host takes its time: the old price still holds
    assert carry_out(host) == ["grow_volume"]
    now = shown(api, volume)
    assert (now["size_gb"], now["daily_rate"], now["growth"], now["cost_so_far"]) == (50, "5.00", None, "1.00")
    quarter(hours)
    assert shown(api, volume)["cost_so_far"] == "2.25"
    assert wallet(rin).balance_micros == before - 225 * UNIT // 100
    # What fails changes neither size nor price.
    must(call(api, at(volume, "/resize"), {"size_gb": 80}), 202)
    carry_out(host, fail="disk_full")
    now = shown(api, volume)
    assert (now["size_gb"], now["daily_rate"], now["failure"]["code"]) == (50, "5.00", "disk_full")
    quarter(hours)
    assert shown(api, volume)["cost_so_far"] == "3.50"
    must(api.delete(f"/api/v1{at(volume)}"), 202)
    carry_out(host)
    assert not Hold.objects.filter(released_at=None).exists() and ledger_findings() == []


def test_a_volume_moves_and_is_charged_at_one_host_at_a_time(
    api: Client, rin: User, host: FakeHost, other: FakeHost, hours: Clock
) -> None:
    volume = make_volume(api, host)
    before = wallet(rin).balance_micros
    quarter(hours)
    rehearsed = must(call(api, at(volume, "/move?dry_run=true"), {"host": host_id(other)}), 200)
    assert (rehearsed["move"]["daily_rate"], rehearsed["daily_rate"]) == ("4.00", "2.00") and not VolumeMove.objects.exists()
    assert code(call(api, at(volume, "/move"), {"host": host_id(host)})) == "400 invalid_input"
    assert code(call(api, at(volume, "/move"), {"host": host_id(other), "max_daily_rate": "3"})) == "409 price_changed"
    body, key = {"host": host_id(other)}, {"Idempotency-Key": "once"}
    moving = must(call(api, at(volume, "/move"), body, **key), 202)
    assert must(call(api, at(volume, "/move"), body, **key), 202) == moving and VolumeMove.objects.count() == 1
    assert (moving["state"], moving["move"]["to_host"]["id"]) == ("moving", host_id(other))
    for path, sent in (("/move", body), ("/resize", {"size_gb": 30}), ("/copy", {**body, "name": "twin"})):
        with refused():
            assert code(call(api, at(volume, path), sent)) == "409 volume_busy"
    with refused():
        assert code(api.delete(f"/api/v1{at(volume)}")) == "409 volume_busy"
    secrets = {row.kind: row for row in Operation.objects.filter(ended_at=None)}
    assert secrets.keys() == {"send_volume", "receive_volume"} and "key" not in str(secrets["send_volume"].args)
    quarter(hours)  # the way takes six hours: it is charged where it lies
    carry(host, other)
    now = shown(api, volume)
    assert (now["state"], now["host"]["id"], now["daily_rate"]) == ("ready", host_id(other), "4.00")
    assert (now["move"]["state"], now["move"]["checksum"], now["move"]["cuts"]) == ("clearing", SUM, 1)
    assert now["cost_so_far"] == "1.00"
    with refused():
        assert code(call(api, at(volume, "/move"), {"host": host_id(host)})) == "409 volume_busy", "not cleared up yet"
    quarter(hours)
    assert carry_out(host, fail="operation_failed") == ["clear_volume"]
    assert advance_volume_transfers(now=clock.now()) == 1, "what broke off is asked for again"
    assert advance_volume_transfers(now=clock.now()) == 0
    assert carry_out(host) == ["clear_volume"]
    now = shown(api, volume)
    assert now["move"] is None and now["cost_so_far"] == "2.00"
    assert wallet(rin).balance_micros == before - 2 * UNIT
    (listed,) = must(api.get(f"/api/v1{at(volume, '/moves')}"), 200)["results"]
    assert (listed["state"], listed["bytes"], listed["kind"]) == ("done", 1000, "move")
    assert not Hold.objects.filter(released_at=None).exclude(source_kind="volume").exists() and ledger_findings() == []


def test_what_does_not_arrive_leaves_the_volume_as_it_was(api: Client, host: FakeHost, other: FakeHost) -> None:
    volume = make_volume(api, host)
    must(call(api, at(volume, "/move"), {"host": host_id(other)}), 202)
    carry(host, other, fail="disk_full")
    now = shown(api, volume)
    assert (now["state"], now["host"]["id"], now["daily_rate"]) == ("ready", host_id(host), "2.00")
    assert (now["failure"]["code"], now["move"]["state"]) == ("disk_full", "undoing")
    assert carry_out(other) == ["clear_volume"]
    assert shown(api, volume)["move"] is None and VolumeMove.objects.get().state == "failed"
    # Given up by its owner, and the other host was written off.
    must(call(api, at(volume, "/move"), {"host": host_id(other)}), 202)
    now = must(call(api, at(volume, "/cancel-move")), 202)
    assert (now["state"], now["failure"]) == ("ready", None)
    with refused():
        assert code(call(api, at(volume, "/cancel-move"))) == "409 unlawful_action"
    Operation.objects.filter(kind="clear_volume", ended_at=None).update(state="failed", ended_at=clock.now())
    Host.objects.filter(pk=other.host.pk).update(state=HostState.RETIRED)
    advance_volume_transfers(now=clock.now())
    assert sorted(VolumeMove.objects.values_list("state", flat=True)) == ["cancelled", "failed"]
    assert [hold.source_kind for hold in Hold.objects.filter(released_at=None)] == ["volume"]
    assert ledger_findings() == []


def test_it_moves_in_its_region_and_is_copied_to_any(
    api: Client, host: FakeHost, other: FakeHost, hours: Clock, rin: User
) -> None:
    Host.objects.filter(pk=other.host.pk).update(region="us")
    volume = make_volume(api, host)
    assert code(call(api, at(volume, "/move"), {"host": host_id(other)})) == "400 invalid_input"
    copy = must(call(api, at(volume, "/copy"), {"host": host_id(other), "name": "twin"}), 201)
    assert (copy["state"], copy["daily_rate"], copy["move"]["kind"]) == ("creating", "4.00", "copy")
    assert shown(api, volume)["state"] == "copying"
    carry(host, other)
    assert (shown(api, copy)["state"], shown(api, volume)["state"]) == ("ready", "ready")
    quarter(hours)
    assert (shown(api, copy)["cost_so_far"], shown(api, volume)["cost_so_far"]) == ("1.00", "0.50")
    third = must(call(api, at(volume, "/copy"), {"host": host_id(other), "name": "third"}), 201)
    must(call(api, at(third, "/cancel-move")), 202)
    assert shown(api, third)["state"] == "deleting" and shown(api, volume)["state"] == "ready"
    assert carry_out(other) == ["drop_volume"]
    fourth = must(call(api, at(volume, "/copy"), {"host": host_id(other), "name": "fourth"}), 201)
    carry(host, other, fail="line_lost")
    assert (shown(api, fourth)["state"], shown(api, volume)["state"]) == ("failed", "ready")
    assert Hold.objects.filter(released_at=None).count() == 2 and ledger_findings() == []


def test_a_snapshot_of_a_volume_that_has_moved_is_not_put_back_over_it(api: Client, host: FakeHost, other: FakeHost) -> None:
    volume = make_volume(api, host)
    snapshot = must(call(api, "/snapshots", {"volume": volume["id"]}), 201)
    carry_out(host)
    must(call(api, at(volume, "/move"), {"host": host_id(other)}), 202)
    carry(host, other)
    with refused():
        assert code(call(api, f"/snapshots/{snapshot['id']}/restore")) == "409 volume_elsewhere"


def test_where_the_money_does_not_reach_it_waits_for_money(
    api: Client, rin: User, host: FakeHost, other: FakeHost, hours: Clock
) -> None:
    volume = make_volume(api, host)
    must(call(api, at(volume, "/move"), {"host": host_id(other)}), 202)
    row = wallet(rin)
    type(row).objects.filter(pk=row.pk).update(balance_micros=row.held_micros)
    hours.advance(hours=1)
    other.was_there()
    VolumeMove.objects.update(micros_per_day=2000 * UNIT)  # the price of an hour is more than is left
    carry(host, other)
    assert shown(api, volume)["delete_at"] is not None
    type(row).objects.filter(pk=row.pk).update(balance_micros=1000 * UNIT)
    with refused():
        assert code(call(api, at(volume, "/resize"), {"size_gb": 30})) == "409 volume_busy"
    assert update_storage_meters(now=clock.now()) == 1
    assert shown(api, volume)["delete_at"] is None


# -- wanted by an instance on another host


def rent_with(api: Client, host: FakeHost, volume: dict[str, Any], **more: Any) -> Any:
    quote = must(call(api, "/quotes", {"offer": f"offr_{host.offer.pk.hex}", **more}), 201)["id"]
    return call(api, "/instances", {"quote_id": quote, "volume_ids": [volume["id"]]})


def test_a_rent_waits_on_its_gpus_for_a_volume_from_another_host(
    api: Client, rin: User, host: FakeHost, other: FakeHost, hours: Clock
) -> None:
    volume = make_volume(api, host)
    made = must(rent_with(api, other, volume), 201)
    instance = Instance.objects.get()
    assert (made["state"], made["actions"]) == ("copying", ["cancel-move"])
    assert Lease.objects.filter(released_at=None).count() == 1 and compare_leases() == 0
    assert shown(api, volume)["attached_to"] == made["id"] and shown(api, volume)["move"]["for_instance"] == made["id"]
    assert [row.run for row in desired_on_host(other.host.pk)] == ["stopped"]
    other.settle()
    hours.advance(minutes=30)
    carry(host, other)
    assert reload(instance).state == "requested"
    (row,) = desired_on_host(other.host.pk)
    assert (row.run, [mount.id for mount in row.mounts]) == ("running", [key_of(volume).hex])
    other.settle()
    assert reload(instance).state == "running"
    assert VolumeMove.objects.get().waits_for is None
    hours.advance(hours=1)
    usage = must(api.get(f"/api/v1/instances/{made['id']}"), 200)["billing"]
    assert usage["cost_so_far"] in ("0.00", "2.40"), "the wait costs nothing"
    kinds = {event["kind"] for event in must(api.get(f"/api/v1/instances/{made['id']}/events"), 200)["results"]}
    assert {"volume_coming", "volume_arrived"} <= kinds


@pytest.mark.parametrize("by_renter", [True, False])
def test_a_rent_whose_volume_does_not_come_is_undone(
    api: Client, rin: User, host: FakeHost, other: FakeHost, by_renter: bool
) -> None:
    volume = make_volume(api, host)
    made = must(rent_with(api, other, volume), 201)
    if by_renter:
        assert must(call(api, f"/instances/{made['id']}/cancel-move"), 202)["state"] == "releasing"
    else:
        carry(host, other, fail="line_lost")
    instance = Instance.objects.get()
    assert instance.state == "releasing" and not Lease.objects.filter(released_at=None).exists()
    other.settle()
    assert reload(instance).state == "gone"
    now = shown(api, volume)
    assert (now["state"], now["attached_to"], now["host"]["id"]) == ("ready", None, host_id(host))
    assert [hold.source_kind for hold in Hold.objects.filter(released_at=None)] == ["volume"]
    assert compare_leases() == 0 and ledger_findings() == []


@pytest.mark.parametrize("end", ["arrives", "fails", "is cancelled"])
def test_a_start_waits_for_a_volume_from_another_host(
    api: Client, rin: User, host: FakeHost, other: FakeHost, end: str
) -> None:
    volume = make_volume(api, host)
    instance = order_running(rin, other)
    stop_instance(renter=rin, instance_id=instance.pk)
    other.settle()
    release_at = reload(instance).release_at
    started = must(call(api, f"/instances/{inst(instance)}/start", {"volume_ids": [volume["id"]]}), 202)
    assert started["state"] == "copying" and compare_leases() == 0
    other.settle()
    assert reload(instance).state == "copying"
    if end == "is cancelled":
        assert must(call(api, f"/instances/{inst(instance)}/cancel-move"), 202)["state"] == "stopped"
    else:
        carry(host, other, **({"fail": "line_lost"} if end == "fails" else {}))
    if end == "arrives":
        assert reload(instance).state == "starting"
        other.settle()
        assert reload(instance).state == "running"
        return
    now = reload(instance)
    assert (now.state, now.release_at) == ("stopped", release_at), "as it was, and so is the date of its data"
    assert not Lease.objects.filter(released_at=None).exists() and compare_leases() == 0
    carry_out(other)
    assert not Attachment.objects.filter(detached_at=None).exists() and ledger_findings() == []


def test_where_it_cannot_wait_the_renter_reads_to_move_it_first(api: Client, host: FakeHost, other: FakeHost) -> None:
    sell(other)
    volume = make_volume(api, host)
    with refused():
        reply = rent_with(api, other, volume, billing_mode="reserved", term="day")
        assert code(reply) == "409 volume_elsewhere" and "migrate it first" in reply.json()["detail"]
    assert not VolumeMove.objects.exists() and not Instance.objects.exists()
