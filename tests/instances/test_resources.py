"""Responses have the values that OpenAPI describes: the same names, and null only where it is allowed."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any, cast

import pytest
from rest_framework import serializers

from accounts.models import User
from billing.metering.settle import settle_meters
from common import clock
from common.http.resource_schemas import schema_of
from instances.core.selectors import quote_of
from instances.lifecycle.stop import stop_instance
from instances.metering.costs import InstanceCost, charges_of, cost_of
from instances.models import Instance, InstanceEvent, InstanceSample
from instances.monitoring.usage_selectors import latest_sample, metrics_of
from instances.release.services import release_instance
from instances.web import resources as web_resources
from instances.web.access import serializers as access_serializers
from instances.web.metering.serializers import UsageOut, usage_resource
from instances.web.monitoring.metrics_api import MetricsOut, metrics_resource
from marketplace.hosts.hosts import freeze_host
from marketplace.models import Host
from tests.instances.fake_host import FakeHost, Use, order, order_running, reload
from tests.instances.fixtures import Clock


def check(found: Any, described: Any) -> None:
    """Values have the fields of their schema, and null only where it is allowed, at every depth."""
    _check(asdict(found), schema_of(described)())


def _check(shown: Any, described: serializers.BaseSerializer[Any]) -> None:
    if isinstance(described, serializers.ListSerializer):
        for item in shown:
            _check(item, cast("serializers.BaseSerializer[Any]", described.child))
        return
    assert isinstance(described, serializers.Serializer)
    assert set(shown) == set(described.fields)
    for name, inner in described.fields.items():
        if isinstance(inner, serializers.BaseSerializer) and shown[name] is not None:
            _check(shown[name], inner)
        assert shown[name] is not None or inner.allow_null, name


def resource_of(instance: Instance) -> web_resources.InstanceOut:
    return web_resources.instance_resource(reload(instance), cost_of(reload(instance), clock.now()), clock.now(), opens=True)


def shown(instance: Instance) -> dict[str, Any]:
    return asdict(resource_of(instance))


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host, gpu_count=2)


def test_an_instance_through_its_life(rin: User, host: FakeHost) -> None:
    instance = order(rin, host)
    described = web_resources.InstanceOut
    check(resource_of(instance), described)
    host.settle()
    check(resource_of(instance), described)
    host.end(instance)
    host.sync()
    check(resource_of(instance), described)
    failed = shown(instance)
    message = {"code": "english", "params": {"sentence": "It ended with code 1."}}
    failure = {"code": "exited", "detail": "It ended with code 1.", "message": message, "fault_of": "renter"}
    assert failed["failure"] == failure
    assert failed["health"] == "failed"
    host.settle()
    assert shown(instance)["gpus"] == []
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    check(resource_of(instance), described)
    gone = shown(instance)
    assert gone["access"] == {"ssh": None, "jupyter_url": None, "tensorboard_url": None}
    assert gone["actions"] == []


def test_what_a_running_instance_shows(host: FakeHost, running: Instance) -> None:
    shape, ports = shown(running), dict(running.ports)
    assert shape["id"] == f"inst_{running.pk.hex}"
    assert shape["offer"] == f"offr_{host.offer.pk.hex}"
    assert shape["host"]["id"] == f"host_{host.host.pk.hex}"
    assert shape["host"]["simulated"] is True
    assert shape["gpus"] == [{"uuid": uuid, "model": "RTX 4090"} for uuid in running.gpu_uuids]
    assert shape["gpu"] == {"model": "RTX 4090", "slug": "rtx-4090", "count": 2}
    assert (shape["cpu_cores"], shape["ram_gb"], shape["image"], shape["data_disk_gb"]) == (16.0, 60.0, "berth-base", 10)
    assert shape["billing"] == {
        "mode": "hourly",
        "hourly_rate": "7.20",
        "cpu_hourly_rate": "0.02",
        "disk_daily": "0.00",
        "max_price": None,
        "spot": None,
        "term": None,
        "next_term": None,
        "next_step": None,
        "keeps_gpus": False,
        "hold_fee": "3.60",
        "cost_so_far": "0.00",
        "next_charge_at": clock.now() + timedelta(hours=1),
    }
    assert shape["access"]["ssh"] == {
        "host": "127.0.0.1",
        "port": ports[22],
        "user": "root",
        "command": f"ssh -p {ports[22]} root@127.0.0.1",
    }
    assert shape["access"]["jupyter_url"] == f"http://127.0.0.1:{ports[8888]}/lab?token={running.jupyter_token}"
    assert shape["access"]["tensorboard_url"] == f"http://127.0.0.1:{ports[6006]}/"
    assert {"stop", "restart", "convert", "release"} <= set(shape["actions"])
    assert (shape["reachable"], shape["health"], shape["failure"]) == (True, "ok", None)


def test_an_ipv6_host_is_bracketed_in_links_and_not_in_commands(running: Instance) -> None:
    Host.objects.update(address="2001:db8::1")
    access = shown(running)["access"]
    assert access["ssh"]["command"].endswith("root@2001:db8::1")
    assert access["tensorboard_url"].startswith("http://[2001:db8::1]:")


def test_fault_023_silence_of_the_host_is_shown_and_moves_nothing(host: FakeHost, running: Instance, hours: Clock) -> None:
    hours.advance(seconds=59)
    assert shown(running)["reachable"]
    hours.advance(seconds=1)
    silent = shown(running)
    assert (silent["state"], silent["reachable"], silent["health"]) == ("running", False, "unreachable")
    host.sync()
    assert shown(running)["health"] == "ok"
    freeze_host(host_id=host.host.pk, reason="test", actor="test")
    assert shown(running)["health"] == "unreachable"


def test_a_step_past_its_deadline_shows(rin: User, host: FakeHost, running: Instance, hours: Clock) -> None:
    stop_instance(renter=rin, instance_id=running.pk)
    hours.advance(minutes=5)
    Host.objects.update(last_seen_at=clock.now())
    assert shown(running)["health"] == "overdue"


def test_the_other_shapes(rin: User, host: FakeHost, running: Instance, hours: Clock) -> None:
    InstanceSample.objects.create(
        instance=running,
        at=clock.now(),
        gpu_util_pct=1,
        vram_used_mb=1,
        **{name: getattr(Use(), name) for name in ("cpu_pct", "ram_mb", "disk_mb", "rx_bytes", "tx_bytes")},
    )
    for _ in range(31):
        hours.advance(minutes=2)
        host.sync()
    settle_meters(now=clock.now())
    since = clock.now() - timedelta(hours=2)
    check(web_resources.quote_resource(quote_of(rin, running.quote_id)), web_resources.QuoteOut)
    check(access_serializers.access_detail(reload(running), opens=True), access_serializers.AccessOut)
    samples = metrics_of(running, since=since, until=clock.now())
    check(metrics_resource(samples, 30, "sample", latest_sample(running)), MetricsOut)
    for event in InstanceEvent.objects.all():
        check(web_resources.event_resource(event), web_resources.EventOut)
    usage = usage_resource(reload(running), InstanceCost(), charges_of(running))
    check(usage, UsageOut)
    (line,) = usage.lines
    assert (line.seconds, line.hourly_rate, line.amount) == (3600.0, "7.20", "-7.20")
