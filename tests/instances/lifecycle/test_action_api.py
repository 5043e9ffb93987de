"""Starts without a GPU, fresh roots and other sizes over the API, down to the money and back from what a host fails at."""

from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from billing.models import Hold, Meter
from common import clock
from common.ids import public_id
from instances.constants import CPU_RUN_MICROS_PER_HOUR, GROW_WITHIN
from instances.core.selectors import desired_instances
from instances.host_reports.operation_results import apply_results
from instances.models import Instance, InstanceEvent
from marketplace.hosts.offers import set_price
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Host
from storage.images.register import register_image
from storage.models import Image, Operation
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, fail_overdue, record_operations
from tests.billing.money import UNIT, charged, wallet
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, held, pass_time, running, sell

HOUR = 3600


@pytest.fixture
def api(rin: User) -> Client:
    _, text = issue_token(user=rin, name="test", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {text}"})


@pytest.fixture
def stopped(api: Client, rin: User, host: FakeHost) -> Instance:
    return stop(api, host, order_running(rin, host, gpu_count=2))


@pytest.fixture
def plain(image: Image) -> Image:
    """Another image, which serves SSH alone."""
    return register_image(slug="plain", reference="plain:1", title="Plain", has_jupyter=False, has_tensorboard=False)


def ask(api: Client, instance: Instance, verb: str, body: dict[str, Any] | None = None, **more: Any) -> Any:
    path = f"/api/v1/instances/{public_id('inst', instance.pk)}/{verb}"
    return api.post(path, body or {}, content_type="application/json", **more)


def stop(api: Client, host: FakeHost, instance: Instance) -> Instance:
    assert ask(api, instance, "stop").status_code == 202
    host.settle()
    assert reload(instance).state == "stopped"
    return reload(instance)


def wanted(host: FakeHost) -> Any:
    [row] = desired_instances(host.host.pk)
    return row


def kinds(instance: Instance) -> list[str]:
    return list(InstanceEvent.objects.filter(instance=instance).order_by("id").values_list("kind", flat=True))


# -- without a GPU


def test_a_start_without_a_gpu(api: Client, host: FakeHost, stopped: Instance, hours: Clock, rin: User) -> None:
    """Half a core and 2 GB at a price of its own; nothing is leased; then its GPUs again."""
    before = charged(stopped.pk)
    reply = ask(api, stopped, "start", {"mode": "cpu"})
    assert reply.status_code == 202, reply.json()
    shape = reply.json()
    assert (shape["state"], shape["without_gpu"], shape["gpus"]) == ("starting", True, [])
    assert (shape["cpu_cores"], shape["ram_gb"]) == (0.5, 2.0)
    assert (shape["billing"]["hourly_rate"], shape["billing"]["cpu_hourly_rate"]) == ("0.02", "0.02")
    row = wanted(host)
    assert (row.gpu_uuids, row.cpu_millis, row.ram_mb, row.run) == ([], 500, 2048, "running")
    host.settle()
    assert reload(stopped).state == "running"
    assert live_leases_of(stopped.pk) == []
    assert held(rin) == CPU_RUN_MICROS_PER_HOUR
    pass_time(host, hours, HOUR)
    assert "convert" not in reload(stopped).actions
    stop(api, host, stopped)
    assert charged(stopped.pk) - before == CPU_RUN_MICROS_PER_HOUR
    assert sorted(Meter.objects.values_list("mode", flat=True)) == ["cpu", "hourly"]
    assert_all_well()
    assert ask(api, stopped, "start").status_code == 202
    host.settle()
    assert len(reload(stopped).gpu_uuids) == len(live_leases_of(stopped.pk)) == 2
    assert (wanted(host).ram_mb, reload(stopped).cpu_only) == (stopped.ram_mb, False)
    assert_all_well()


def test_its_places_are_few_and_its_price_can_be_limited(api: Client, host: FakeHost, stopped: Instance, rin: User) -> None:
    dear = ask(api, stopped, "start", {"mode": "cpu", "max_hourly_rate": "0.01"})
    assert (dear.status_code, dear.json()["code"]) == (409, "price_changed")
    rehearsed = ask(api, stopped, "start?dry_run=true", {"mode": "cpu"})
    assert (rehearsed.status_code, reload(stopped).state, held(rin)) == (200, "stopped", 0)
    Host.objects.filter(pk=host.host.pk).update(ram_mb=65_536)  # room for one
    other = stop(api, host, order_running(rin, host))
    first = ask(api, stopped, "start", {"mode": "cpu"}, headers={"Idempotency-Key": "k"})
    assert ask(api, stopped, "start", {"mode": "cpu"}, headers={"Idempotency-Key": "k"}).json() == first.json()
    full = ask(api, other, "start", {"mode": "cpu"})
    assert (full.status_code, full.json()["code"]) == (409, "no_cpu_room")
    assert reload(other).state == "stopped"
    host.settle()
    stop(api, host, stopped)
    assert ask(api, other, "start", {"mode": "cpu"}).status_code == 202


def test_it_counts_for_no_step_and_breaks_none(api: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    """Tiered: an hour with GPUs, an hour without, an hour with: the step at two hours is reached at the end, not before."""
    sell(host)
    instance = running(rin, host, "tiered")
    pass_time(host, hours, HOUR)
    stop(api, host, instance)
    assert ask(api, instance, "start", {"mode": "cpu"}).status_code == 202
    host.settle()
    pass_time(host, hours, HOUR)
    stop(api, host, instance)
    assert ask(api, instance, "start").status_code == 202
    host.settle()
    step = ask_shape(api, instance)["billing"]["next_step"]
    assert (step["used_hours"], step["from_hours"]) == (1.0, 2)
    assert Meter.objects.get(closed_at=None).base_us == HOUR * 10**6
    assert_all_well()


def ask_shape(api: Client, instance: Instance) -> Any:
    return api.get(f"/api/v1/instances/{public_id('inst', instance.pk)}").json()


def test_reserved_and_kept_gpus_need_no_start_without(api: Client, rin: User, host: FakeHost) -> None:
    sell(host)
    reserved = stop(api, host, running(rin, host, "reserved", term="day"))
    assert "start_cpu" not in reserved.actions
    assert ask(api, reserved, "start", {"mode": "cpu"}).json()["code"] == "unlawful_action"
    kept = order_running(rin, host)
    assert ask(api, kept, "stop", {"hold": True}).status_code == 202
    host.settle()
    assert ask(api, kept, "start", {"mode": "cpu"}).json()["code"] == "unlawful_action"


# -- a fresh root


def test_a_running_instance_gets_a_fresh_root(api: Client, rin: User, host: FakeHost, plain: Image) -> None:
    instance = order_running(rin, host)
    reply = ask(api, instance, "reimage", {"image": "plain"})
    assert reply.status_code == 202, reply.json()
    shape = reply.json()
    assert (shape["state"], shape["image"]) == ("restarting", "plain")
    assert shape["reimage"] == {"image": "plain", "former_image": "berth-base", "begun": True}
    row = wanted(host)
    assert (row.root, row.image, row.generation) == (1, "plain:1", 2)
    assert set(row.gpu_uuids) == {lease.gpu_uuid for lease in live_leases_of(instance.pk)}
    host.settle()
    shape = ask_shape(api, instance)
    assert (shape["state"], shape["reimage"], shape["setback"]) == ("running", None, None)
    assert kinds(instance)[-3:] == ["reimage_asked", "running", "reimaged"]
    assert Meter.objects.filter(closed_at=None).count() == 1
    assert ask(api, instance, "reimage", {"image": "berth-base"}).status_code == 202
    assert wanted(host).root == 2, "no number is used twice"
    assert_all_well()


def test_a_fresh_root_that_fails_leads_back(api: Client, rin: User, host: FakeHost, plain: Image, hours: Clock) -> None:
    instance = order_running(rin, host)
    ask(api, instance, "reimage", {"image": "plain"})
    host.sync()
    host.break_next(instance, "image_missing", "The image plain:1 cannot be had: not found")
    host.sync()
    row = wanted(host)
    assert (row.root, row.image, row.generation, row.run) == (0, "berth/base:1", 3, "running")
    shape = ask_shape(api, instance)
    assert (shape["state"], shape["failure"], shape["reimage"]) == ("restarting", None, None)
    assert shape["setback"]["code"] == "image_missing"
    host.settle()
    assert ask_shape(api, instance)["state"] == "running"
    assert ask(api, instance, "reimage", {"image": "plain"}).status_code == 202
    assert wanted(host).root == 2, "what the first try left is no base for the second"
    host.settle()
    assert ask_shape(api, instance)["setback"] is None
    assert_all_well()


def test_when_the_former_root_fails_too_it_has_failed(api: Client, rin: User, host: FakeHost, plain: Image) -> None:
    instance = order_running(rin, host)
    ask(api, instance, "reimage", {"image": "plain"})
    for code in ("image_missing", "start_failed"):
        host.sync()
        host.break_next(instance, code)
        host.sync()
    assert (reload(instance).state, reload(instance).failure_code) == ("failed", "start_failed")
    host.settle()
    assert ask(api, instance, "reimage", {"image": "plain"}).status_code == 202, "a way out of a broken root"
    assert ask(api, instance, "start").status_code == 202
    host.settle()
    assert reload(instance).state == "running"
    assert_all_well()


def test_a_stopped_one_gets_it_with_its_next_start(api: Client, host: FakeHost, stopped: Instance, plain: Image) -> None:
    path = f"/api/v1/instances/{public_id('inst', stopped.pk)}/reimage"
    assert ask(api, stopped, "reimage", {"image": "plain"}).json()["reimage"]["begun"] is False
    assert (reload(stopped).state, wanted(host).run) == ("stopped", "stopped")
    taken_back = api.delete(path)
    assert (taken_back.status_code, taken_back.json()["image"], taken_back.json()["reimage"]) == (200, "berth-base", None)
    assert api.delete(path).status_code == 200, "twice is as once"
    ask(api, stopped, "reimage", {"image": "plain"})
    ask(api, stopped, "reimage", {"image": "berth-base"})
    assert ask_shape(api, stopped)["reimage"]["former_image"] == "berth-base", "back to what is there, not to a wish"
    assert ask(api, stopped, "start").status_code == 202
    assert wanted(host).root == 3
    assert api.delete(path).json()["code"] == "unlawful_action"
    host.settle()
    assert reload(stopped).former_root is None
    assert_all_well()


def test_a_stop_in_the_middle_goes_on_with_the_next_start(api: Client, rin: User, host: FakeHost, plain: Image) -> None:
    """Nobody knows how far the host came: so there is no way back, and a failure then is a failure."""
    instance = order_running(rin, host)
    ask(api, instance, "reimage", {"image": "plain"})
    host.sync()
    stop(api, host, instance)
    assert api.delete(f"/api/v1/instances/{public_id('inst', instance.pk)}/reimage").status_code == 409
    ask(api, instance, "start")
    host.sync()
    host.break_next(instance, "image_missing")
    host.settle()
    assert reload(instance).state == "failed"
    assert reload(instance).root_number == 1


def test_what_the_new_image_serves_gets_ports(api: Client, rin: User, host: FakeHost, plain: Image) -> None:
    instance = order_running(rin, host)
    ports = dict(instance.ports)
    ask(api, instance, "reimage", {"image": "plain"})
    host.settle()
    Instance.objects.filter(pk=instance.pk).update(ports=[[22, ports[22]]], jupyter_token="")
    ask(api, instance, "reimage", {"image": "berth-base"})
    fresh = reload(instance)
    assert {inside for inside, _ in fresh.ports} == {22, 8888, 6006}
    assert dict(fresh.ports)[22] == ports[22], "SSH keeps its number"
    assert fresh.jupyter_token


def test_what_cannot_be_re_imaged(api: Client, rin: User, host: FakeHost, plain: Image) -> None:
    instance = order(rin, host)
    assert ask(api, instance, "reimage", {"image": "plain"}).json()["code"] == "unlawful_action"
    host.settle()
    assert ask(api, instance, "reimage", {"image": "nonsense"}).status_code == 404
    Image.objects.filter(pk=plain.pk).update(cuda="99.0")
    reply = ask(api, instance, "reimage", {"image": "plain"})
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "image")
    Instance.objects.filter(pk=instance.pk).update(locked=True)
    assert ask(api, instance, "reimage", {"image": "berth-base"}).status_code == 409
    assert reload(instance).root_number == 0


# -- another size


def test_another_number_of_gpus(api: Client, host: FakeHost, stopped: Instance, rin: User) -> None:
    path = f"/api/v1/instances/{public_id('inst', stopped.pk)}/resize"
    price = api.get(path, {"gpu_count": 3}).json()
    assert (price["hourly_rate"], price["hourly_rate_now"], price["gpu_count"]) == ("10.80", "7.20", 3)
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4 * UNIT)
    dear = ask(api, stopped, "resize", {"gpu_count": 3, "max_hourly_rate": "10.80"})
    assert (dear.status_code, dear.json()["code"], dear.json()["hourly_rate"]) == (409, "price_changed", "12.00")
    reply = ask(api, stopped, "resize", {"gpu_count": 3, "max_hourly_rate": "12.00"})
    assert reply.status_code == 202, reply.json()
    assert (reply.json()["gpu"]["count"], reply.json()["billing"]["hourly_rate"]) == (3, "12.00")
    assert held(rin) == 0, "nothing is due before it starts"
    assert ask(api, stopped, "start").status_code == 202
    host.settle()
    assert len(live_leases_of(stopped.pk)) == 3
    assert held(rin) == 12 * UNIT
    running = ask(api, stopped, "resize", {"gpu_count": 1})
    assert (running.status_code, running.json()["code"]) == (409, "unlawful_action")
    assert ask(api, stopped, "resize", {"gpu_count": 9}).json()["errors"][0]["field"] == "gpu_count"
    assert_all_well()


def test_a_larger_disk(api: Client, host: FakeHost, rin: User, hours: Clock) -> None:
    """Asked of the host while the instance goes on; charged for from the moment that the host says it is there."""
    sell(host)  # a GB above 50 costs 0.0048 a day
    instance = order_running(rin, host)
    price = api.get(f"/api/v1/instances/{public_id('inst', instance.pk)}/resize", {"data_disk_gb": 150}).json()
    assert (price["disk_daily"], price["disk_daily_now"]) == ("0.48", "0.00")
    assert ask(api, instance, "resize", {"data_disk_gb": 150}).status_code == 202
    [operation] = desired_operations(host.host.pk)
    assert (operation.kind, operation.args["size_gb"], operation.args["instance"]) == ("grow_disk", "150", instance.pk.hex)
    assert ask_shape(api, instance)["data_disk_gb"] == 10, "not before it is there"
    busy = ask(api, instance, "resize", {"data_disk_gb": 160})
    assert (busy.status_code, busy.json()["code"]) == (409, "unlawful_action")
    done(host, operation.id, outcome={"applied": "now"})
    shape = ask_shape(api, instance)
    assert (shape["data_disk_gb"], shape["billing"]["disk_daily"]) == (150, "0.48")
    assert wanted(host).data_disk_gb == 150
    pass_time(host, hours, 24 * HOUR)
    assert ask(api, instance, "resize", {"data_disk_gb": 250}).status_code == 202
    [operation] = desired_operations(host.host.pk)
    done(host, operation.id, outcome={"applied": "at_next_start"})
    assert kinds(instance)[-1] == "disk_grown_at_next_start"
    pass_time(host, hours, 24 * HOUR)
    disks = Meter.objects.filter(source_kind="disk").order_by("opened_at")
    assert [meter.rate_micros for meter in disks] == [480_000, 960_000]
    assert disks[0].closed_at == disks[1].opened_at
    assert "200 GB above" in disks[1].label
    assert_all_well()


def done(host: FakeHost, key: Any, **operation: Any) -> None:
    row = OperationRow(key, **with_message({"phase": "done", **operation}))
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())
    apply_results()


@pytest.mark.parametrize("way", ["refused", "silent"])
def test_a_disk_that_cannot_grow_costs_nothing(api: Client, host: FakeHost, rin: User, hours: Clock, way: str) -> None:
    sell(host)
    instance = order_running(rin, host)
    before = held(rin)
    ask(api, instance, "resize", {"data_disk_gb": 150})
    assert held(rin) > before
    [operation] = desired_operations(host.host.pk)
    if way == "refused":
        done(host, operation.id, phase="failed", failure_code="disk_full", detail="The host has no room.")
    else:
        hours.advance(seconds=GROW_WITHIN.total_seconds() + 1)
        fail_overdue(now=clock.now())
        apply_results()
    shape = ask_shape(api, instance)
    assert (shape["data_disk_gb"], shape["state"]) == (10, "running")
    assert shape["setback"]["code"] == {"refused": "disk_full", "silent": "out_of_time"}[way]
    assert held(rin) == before
    assert not Hold.objects.filter(source_kind="disk", released_at=None).exists()
    assert_all_well()


def test_what_a_disk_cannot_be(api: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    smaller = ask(api, instance, "resize", {"data_disk_gb": 5})
    assert (smaller.status_code, smaller.json()["errors"][0]["field"]) == (400, "data_disk_gb")
    assert ask(api, instance, "resize", {"data_disk_gb": 99_999}).json()["code"] == "disk_too_large"
    assert ask(api, instance, "resize", {"data_disk_gb": 10}).status_code == 400, "its size already"
    assert ask(api, instance, "resize").status_code == 400
    assert not Operation.objects.exists()


def test_a_first_disk_comes_with_the_next_start(api: Client, host: FakeHost, rin: User) -> None:
    sell(host)
    instance = order(rin, host, disk=0)
    host.settle()
    assert ask(api, instance, "resize", {"data_disk_gb": 60}).json()["errors"][0]["field"] == "data_disk_gb"
    stop(api, host, instance)
    assert ask(api, instance, "resize", {"data_disk_gb": 60}).json()["data_disk_gb"] == 60
    assert not Operation.objects.exists()
    assert Meter.objects.get(source_kind="disk").rate_micros == 48_000
    assert_all_well()


def test_without_the_money_nothing_is_asked_of_the_host(api: Client, host: FakeHost, rin: User) -> None:
    sell(host, disk_micros_gb_day=10**9)
    instance = order_running(rin, host)
    reply = ask(api, instance, "resize", {"data_disk_gb": 1000})
    assert (reply.status_code, reply.json()["code"]) == (402, "insufficient_funds")
    assert not Operation.objects.exists()
    assert wallet(rin).held_micros == 3_600_000


def test_a_release_while_it_grows(api: Client, host: FakeHost, rin: User) -> None:
    sell(host)
    instance = order_running(rin, host)
    ask(api, instance, "resize", {"data_disk_gb": 150})
    [operation] = desired_operations(host.host.pk)
    assert api.delete(f"/api/v1/instances/{public_id('inst', instance.pk)}").status_code == 202
    host.settle()
    done(host, operation.id)
    assert reload(instance).state == "gone"
    assert held(rin) == 0
    assert_all_well()
